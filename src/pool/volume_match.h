// SPDX-License-Identifier: Apache-2.0
// Whether a volume that is there is the one that is asked for, how old it is, and whether it is
// still wanted.
#pragma once

#include <absl/time/time.h>

#include <string>

#include "pool/volume_record.h"

namespace holdfast::pool {

// OK if the volume is what the spec asks for (CreateVolume is idempotent by name); ALREADY_EXISTS
// names what differs.
[[nodiscard]] absl::Status RequireSame(const Volume& volume, const VolumeSpec& spec);

// The age of the record to the second, subject to clock skew between machines (it may be negative);
// -infinity if created_at cannot be parsed.
[[nodiscard]] absl::Duration AgeOf(const Volume& volume, absl::Time now);

// For what is there only as long as calls ask for it again and again: `at` is when one last did
// (CopyProgress::wanted_at, Volume::held_at). True after an hour.
[[nodiscard]] bool IsForgotten(const std::string& at, absl::Time now);
// Whether `at` is old enough to be written again: the record is not written for every call.
[[nodiscard]] bool IsDueAgain(const std::string& at, absl::Time now);

}  // namespace holdfast::pool
