// SPDX-License-Identifier: Apache-2.0
// The steps of a record around formatting: the same rules for every kind of pool. See
// node/format_once.h for when they are taken.
#pragma once

#include <string>

#include "pool/volume_record.h"

namespace holdfast::pool {

// ready or formatting -> formatting with that UUID. FAILED_PRECONDITION in any other state: a
// volume that is or was formatted is never formatted again.
[[nodiscard]] absl::Status EnterFormatting(VolumeRecord& record,
                                           const std::string& filesystem_uuid);

// formatting -> formatted. FAILED_PRECONDITION in any other state.
[[nodiscard]] absl::Status LeaveFormatting(VolumeRecord& record);

// OK in state formatting, in which no data can exist. FAILED_PRECONDITION in any other: the
// volume's bytes are not to be touched.
[[nodiscard]] absl::Status RequireBlankable(const VolumeRecord& record);

}  // namespace holdfast::pool
