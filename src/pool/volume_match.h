// SPDX-License-Identifier: Apache-2.0
// A new volume's record, and whether a volume that is there is the one that is asked for: the same
// for every kind of pool.
#pragma once

#include <absl/time/time.h>

#include <string>

#include "pool/volume_record.h"

namespace holdfast::pool {

// OK if the volume is what the spec asks for (CreateVolume is idempotent by name); ALREADY_EXISTS
// names what differs.
[[nodiscard]] absl::Status RequireSame(const Volume& volume, const VolumeSpec& spec);

// The record of a volume whose creation begins at `now`: state allocating.
[[nodiscard]] VolumeRecord NewRecord(const VolumeSpec& spec, const std::string& uuid,
                                     Bytes capacity, std::uint32_t sector_size, absl::Time now);

// The age of the record to the second, subject to clock skew between machines (it may be negative);
// -infinity if created_at cannot be parsed.
[[nodiscard]] absl::Duration AgeOf(const Volume& volume, absl::Time now);

}  // namespace holdfast::pool
