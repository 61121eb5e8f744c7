// SPDX-License-Identifier: Apache-2.0
// What the bytes of a volume must show before its record is believed. A record may be older than
// the bytes: a backup read the small record before the large image, or an administrator restored
// the record alone. So nothing is zeroed, cut off or removed because a record says that it was
// never used; docs/on-disk.md has the whole rule.
#pragma once

#include "pool/volume_backend.h"

namespace holdfast::pool {

// OK if the volume's bytes may be removed because its record is `allocating` or `deleting`, without
// a call that asks for it now: bytes of an unfinished creation were never used, and bytes marked
// with another filesystem than the tombstone names belong to a later volume of the same name.
// FAILED_PRECONDITION says so, and what to do. OK for records in other states, where nothing is
// removed.
[[nodiscard]] absl::Status RequireUnwanted(VolumeBytes& bytes, const VolumeRecord& record);

// OK if `size`, that of the bytes, is what the record says, or, while they grow, one up to the
// target. FAILED_PRECONDITION says which of the two is wrong.
[[nodiscard]] absl::Status RequireSize(Bytes size, const VolumeRecord& record);
[[nodiscard]] absl::Status RequireSize(VolumeBytes& bytes, const VolumeRecord& record);

}  // namespace holdfast::pool
