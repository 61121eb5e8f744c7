// SPDX-License-Identifier: Apache-2.0
// Making the table of digests of a snapshot (file/digest_table.h), in steps.
#pragma once

#include <string>

#include "core/bytes.h"
#include "core/status.h"
#include "file/digest_table.h"

namespace holdfast::file {

// Another snapshot of the volume, with its table: blocks that both images have in one place need
// not be read again.
struct TableDonor {
  int image_fd = -1;
  DigestTable* digests = nullptr;
};

// Makes the table of an image that nothing writes to, for about half a second; true when it is
// there, durably. `reached` is 0 for the first call and what the last one has made of it for the
// next; a killed process begins again. `donor` may be null, and another one each time.
// RESOURCE_EXHAUSTED without room, and INTERNAL, leave no table.
[[nodiscard]] absl::StatusOr<bool> MakeDigestTable(int directory_fd, int image_fd,
                                                   const TableOwner& owner, TableDonor* donor,
                                                   Bytes& reached);

// At the start: removes what a killed process has made of a table. A file that cannot be removed is
// left, and does no harm.
void RemoveUnfinishedTable(int volumes_fd, const std::string& uuid);

}  // namespace holdfast::file
