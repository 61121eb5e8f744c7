// SPDX-License-Identifier: Apache-2.0
// Which blocks of a snapshot's image differ from one of which there is nothing but its table of
// digests.
#pragma once

#include "core/bytes.h"
#include "core/status.h"
#include "file/digest_table.h"
#include "pool/changed_ranges.h"

namespace holdfast::file {

struct DigestComparison {
  DigestTable* base = nullptr;
  int target_fd = -1;
  DigestTable* target = nullptr;  // null: the image is read
  Bytes common = 0;               // both have as many bytes
};

// The blocks of kDigestBlock that differ, from `offset` on and before `common`, for about half a
// second. INTERNAL when the image or a table cannot be read; DATA_LOSS when a table is damaged.
[[nodiscard]] absl::StatusOr<pool::RangePage> FindChangesByDigests(const DigestComparison& compared,
                                                                   Bytes offset);

}  // namespace holdfast::file
