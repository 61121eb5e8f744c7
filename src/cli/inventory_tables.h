// SPDX-License-Identifier: Apache-2.0
// The lists of a running Holdfast as tables for people.
#pragma once

#include <absl/time/time.h>

#include <string>

#include "cli/output.h"
#include "proto/admin.pb.h"

namespace holdfast::cli {

// How long ago that was, in the largest unit that leaves more than one digit where it can: "42s",
// "90m", "30h", "12d". Empty if it is not RFC 3339; "0s" for what is to come.
[[nodiscard]] std::string AgeText(const std::string& rfc3339, absl::Time now);

// "copying 12 MiB of 1 GiB", "ready", ...
[[nodiscard]] std::string StateText(const admin::v1::Volume& volume);
[[nodiscard]] std::string StateText(const admin::v1::Snapshot& snapshot);
// "NAMESPACE/NAME" of the claim; the CO's name for the volume if it is not known.
[[nodiscard]] std::string ClaimText(const admin::v1::Volume& volume);
// Bytes for people; empty if they are not known (-1).
[[nodiscard]] std::string BytesText(std::int64_t bytes);

// `wide` adds columns.
[[nodiscard]] Table TableOf(const admin::v1::ListPoolsResponse& list, bool wide);
[[nodiscard]] Table TableOf(const admin::v1::ListVolumesResponse& list, bool wide);
[[nodiscard]] Table TableOf(const admin::v1::ListSnapshotsResponse& list, bool wide);
[[nodiscard]] Table TableOf(const admin::v1::ListNodesResponse& list, bool wide);
[[nodiscard]] Table TableOf(const admin::v1::ListLeftoversResponse& list, bool wide);
[[nodiscard]] Table TableOf(const admin::v1::ListTrashResponse& list, bool wide);

}  // namespace holdfast::cli
