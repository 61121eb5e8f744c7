// SPDX-License-Identifier: Apache-2.0
// What nodes tell each other of a snapshot before its bytes (link.proto, Content).
#pragma once

#include "core/volume.h"
#include "proto/link.pb.h"

namespace holdfast::controller {

// A snapshot that is held for a clone in another pool or on another node (docs/adr/0032).
struct HeldContent {
  VolumeId snapshot;
  Content content;
};

[[nodiscard]] link::v1::Content ToMessage(const Content& content);

// INVALID_ARGUMENT if no snapshot can be so: it comes from another node.
[[nodiscard]] absl::StatusOr<Content> ParseContent(const link::v1::Content& message);

[[nodiscard]] link::v1::HeldContent ToMessage(const HeldContent& held);

// The same of a clone's source; INVALID_ARGUMENT also if the snapshot is not in the pool of the
// volume `source`.
[[nodiscard]] absl::StatusOr<HeldContent> ParseHeldContent(const link::v1::HeldContent& message,
                                                           const VolumeId& source);

}  // namespace holdfast::controller
