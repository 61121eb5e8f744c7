// SPDX-License-Identifier: Apache-2.0
#include "controller/held_contents.h"

#include "core/log.h"

namespace holdfast::controller {
namespace {

// The CO waits for its volume meanwhile, which is complete.
constexpr std::chrono::seconds kReleaseTime{2};

}  // namespace

bool IsOver(const absl::Status& creation) {
  return !absl::IsAborted(creation) && !absl::IsUnavailable(creation) &&
         !absl::IsDeadlineExceeded(creation) && !absl::IsCancelled(creation) &&
         !absl::IsAlreadyExists(creation);
}

absl::StatusOr<HeldContent> HeldContents::Hold(const VolumeId& volume, const std::string& name,
                                               link::Deadline deadline) {
  if (volume.node.empty()) return own_.hold(volume, name);
  return nodes_.HoldContent(volume, name, deadline);
}

void HeldContents::Release(const VolumeId& volume, const std::string& name) {
  const absl::Status released = TryToRelease(volume, name);
  if (released.ok()) return;
  LogWarning(
      "the snapshot of volume '{}' that was held for the clone '{}' is removed within about an "
      "hour, because now it cannot be: {}",
      volume.ToString(), name, MessageOf(released));
}

absl::Status HeldContents::TryToRelease(const VolumeId& volume, const std::string& name) {
  if (volume.node.empty()) return own_.release(volume, name);
  if (hub_.Nodes({volume.node}).empty()) {
    return Unavailable("node '{}' is not connected", volume.node);
  }
  return nodes_.ReleaseContent(volume, name, link::Deadline::clock::now() + kReleaseTime);
}

}  // namespace holdfast::controller
