// SPDX-License-Identifier: Apache-2.0
// The sources of clones that are made in another pool or on another node: snapshots that are held
// for as long as such a creation is under way (docs/adr/0032), wherever the cloned volume is.
#pragma once

#include <functional>
#include <string>

#include "controller/node_calls.h"

namespace holdfast::controller {

// Contents in the controller's own pools: functions of Service.
struct OwnContents {
  std::function<absl::StatusOr<Content>(const std::string& snapshot_id)> describe;
  std::function<absl::StatusOr<HeldContent>(const VolumeId& volume, const std::string& name)> hold;
  std::function<absl::Status(const VolumeId& volume, const std::string& name)> release;
};

// Whether a creation that ended so needs its source no more: the CO has its answer, and repeats the
// call as a new one if at all. A name that is taken says nothing of the creation that took it.
[[nodiscard]] bool IsOver(const absl::Status& creation);

// Thread-safe.
class HeldContents final {
 public:
  // `hub` outlives it.
  HeldContents(link::Hub& hub, OwnContents own) : hub_(hub), nodes_(hub), own_(std::move(own)) {}

  // Errors as NodeCalls::HoldContent and Service::Hold.
  [[nodiscard]] absl::StatusOr<HeldContent> Hold(const VolumeId& volume, const std::string& name,
                                                 link::Deadline deadline);

  // What cannot be released now is removed by its owner, when no call has asked for it for an hour.
  void Release(const VolumeId& volume, const std::string& name);

 private:
  absl::Status TryToRelease(const VolumeId& volume, const std::string& name);

  link::Hub& hub_;
  NodeCalls nodes_;
  const OwnContents own_;
};

}  // namespace holdfast::controller
