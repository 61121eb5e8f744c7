// SPDX-License-Identifier: Apache-2.0
// Which bytes of a snapshot's image hold data, and which differ from those of another one. Both in
// parts, each of which takes about half a second at most.
#pragma once

#include "core/bytes.h"
#include "core/status.h"
#include "file/digest_table.h"
#include "os/extent_map.h"
#include "pool/changed_ranges.h"

namespace holdfast::file {

// The ranges of data from `offset` on. INTERNAL when that cannot be found out.
[[nodiscard]] absl::StatusOr<pool::RangePage> FindData(int image_fd, Bytes capacity, Bytes offset);

// The parts of `window`, which both maps describe, that are not in one place, or are zeros in one
// of the files only.
[[nodiscard]] pool::Ranges InTwoPlaces(const os::ExtentMap& one, const os::ExtentMap& other,
                                       const pool::Range& window);

// Where two images do not have the same blocks in the same places, from `offset` on, up to
// RangePage::next: everything else is equal. UNIMPLEMENTED if the filesystem does not tell;
// INTERNAL when the maps cannot be read.
[[nodiscard]] absl::StatusOr<pool::RangePage> FindMoved(int base_fd, int target_fd, Bytes capacity,
                                                        Bytes offset);

// What is known of two images before their bytes are read.
struct Comparison {
  int base_fd = -1;
  int target_fd = -1;
  Bytes capacity = 0;  // of the target; the base has at least as many bytes
  // Both may share blocks with others: what is in the same place is the same.
  bool by_place = false;
  // One of the images has blocks of its own, so what is in two places may still be equal: it is
  // looked up if both have a table of digests, and read otherwise.
  bool by_content = false;
  DigestTable* base_digests = nullptr;
  DigestTable* target_digests = nullptr;
};

// The ranges from `offset` on in which the images differ. Exact where they share blocks; whole
// blocks of kDigestBlock where contents are compared; too much where the filesystem moves blocks
// meanwhile. INTERNAL when an image cannot be read; DATA_LOSS when a table is damaged.
[[nodiscard]] absl::StatusOr<pool::RangePage> FindChanges(const Comparison& images, Bytes offset);

}  // namespace holdfast::file
