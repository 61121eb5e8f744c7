// SPDX-License-Identifier: Apache-2.0
// What nodes tell each other of a snapshot before its bytes (link.proto, Content).
#pragma once

#include "core/volume.h"
#include "proto/link.pb.h"

namespace holdfast::controller {

[[nodiscard]] link::v1::Content ToMessage(const Content& content);

// INVALID_ARGUMENT if no snapshot can be so: it comes from another node.
[[nodiscard]] absl::StatusOr<Content> ParseContent(const link::v1::Content& message);

}  // namespace holdfast::controller
