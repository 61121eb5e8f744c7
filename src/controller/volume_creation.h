// SPDX-License-Identifier: Apache-2.0
// CreateVolume for a controller without pools: which node makes the volume, and how it is found
// again when an answer was lost.
#pragma once

#include <string>

#include "controller/node_calls.h"
#include "controller/placement.h"
#include "core/key_lock.h"
#include "link/hub.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

// Thread-safe. A volume of a name is made once, wherever: a node that has it, or was told to make
// it and has not answered, is asked again.
class VolumeCreation final {
 public:
  // `hub` and `volume_locks` outlive it.
  VolumeCreation(std::string driver_name, link::Hub& hub, KeyLock& volume_locks)
      : driver_name_(std::move(driver_name)), hub_(hub), volume_locks_(volume_locks), nodes_(hub) {}

  // INVALID_ARGUMENT naming the field; ABORTED while the same name is being made;
  // RESOURCE_EXHAUSTED when no node that is there has room and the CO may choose others;
  // UNAVAILABLE when one that is not there may have the volume, or the room; else as the node
  // answers.
  [[nodiscard]] absl::Status Create(const csi::v1::CreateVolumeRequest& request,
                                    link::Deadline deadline,
                                    csi::v1::CreateVolumeResponse& response);

 private:
  absl::StatusOr<Candidates> AwaitPlace(const csi::v1::CreateVolumeRequest& request,
                                        const Wanted& wanted, link::Deadline deadline);
  [[nodiscard]] std::vector<link::NodeView> NodesFor(
      const csi::v1::TopologyRequirement& requirement) const;
  absl::Status CreateOn(const std::string& node, const csi::v1::CreateVolumeRequest& request,
                        link::Deadline deadline, csi::v1::CreateVolumeResponse& response);

  const std::string driver_name_;
  link::Hub& hub_;
  KeyLock& volume_locks_;
  NodeCalls nodes_;
};

}  // namespace holdfast::controller
