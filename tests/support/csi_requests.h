// SPDX-License-Identifier: Apache-2.0
// Requests of a CO.
#pragma once

#include <string>
#include <vector>

#include "core/bytes.h"
#include "proto/csi.pb.h"
#include "rpc/topology.h"

namespace holdfast::test {

inline constexpr char kDriverName[] = "csi.holdfast.dev";

inline csi::v1::VolumeCapability MountCapability() {
  csi::v1::VolumeCapability capability;
  capability.mutable_mount();
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  return capability;
}

// Accessible from one of these nodes; from any if there are none.
inline csi::v1::CreateVolumeRequest CreateOf(const std::string& name,
                                             const std::vector<std::string>& nodes = {},
                                             Bytes bytes = kMiB) {
  csi::v1::CreateVolumeRequest request;
  request.set_name(name);
  request.mutable_capacity_range()->set_required_bytes(bytes);
  *request.add_volume_capabilities() = MountCapability();
  for (const std::string& node : nodes) {
    *request.mutable_accessibility_requirements()->add_requisite() =
        rpc::NodeTopology(kDriverName, node);
  }
  return request;
}

template <typename Request>
Request OfVolume(const std::string& id) {
  Request request;
  request.set_volume_id(id);
  return request;
}

}  // namespace holdfast::test
