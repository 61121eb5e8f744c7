// SPDX-License-Identifier: Apache-2.0
// Copying the data of one image to another where they cannot share blocks: read only where there
// is data (SEEK_DATA, lseek(2)), so that holes and allocated space without data cost nothing and
// holes stay holes. Past the page cache where the host filesystem can do that, so that the copy
// does not displace what applications have there.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/bytes.h"
#include "core/status.h"
#include "os/shared_extents.h"

namespace holdfast::file {

// The bytes before `end` of the open file that are data, in whole blocks. INTERNAL when that cannot
// be found out.
[[nodiscard]] absl::StatusOr<Bytes> DataBytes(int image_fd, Bytes end);

// The first data behind `begin` and before `end`, from there on, in whole blocks; nothing if there
// is none. INTERNAL as above.
[[nodiscard]] absl::StatusOr<std::optional<os::Extent>> NextData(int image_fd, Bytes begin,
                                                                 Bytes end);

// Allocates those parts of the target where the source has data before `end`. RESOURCE_EXHAUSTED
// without room.
[[nodiscard]] absl::Status AllocateForData(int source_fd, int target_fd, Bytes end);

// What shows that nobody has written to the image: its size and the time of its last change.
[[nodiscard]] absl::StatusOr<std::string> VersionOf(int image_fd);

struct CopiedPart {
  Bytes reached = 0;  // everything before this offset is copied; the end, if all is
  Bytes copied = 0;   // how many bytes of data
  std::chrono::nanoseconds took{0};
};

// Copies the source's data from `begin` to `end` to the same places of the target, which reads as
// zeros there, until `until` or until `most` bytes are copied. At least one piece is copied. Not
// durable until the target is synced. RESOURCE_EXHAUSTED without room. Needs 1 MiB of memory; both
// descriptors are the caller's own open file descriptions, whose flags it changes.
[[nodiscard]] absl::StatusOr<CopiedPart> CopyData(int source_fd, int target_fd, Bytes begin,
                                                  Bytes end,
                                                  std::chrono::steady_clock::time_point until,
                                                  Bytes most);

}  // namespace holdfast::file
