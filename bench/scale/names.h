// SPDX-License-Identifier: Apache-2.0
// Names that the simulated nodes and the controller's callers share.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "core/volume_id.h"

namespace bench {

inline constexpr const char* kDriver = "csi.holdfast.dev";
inline constexpr const char* kTopologyKey = "topology.csi.holdfast.dev/node";
inline constexpr const char* kPool = "default";
// Larger than all volumes of all nodes together, so that the sum of the available space shows how
// many nodes are connected.
inline constexpr std::int64_t kPoolBytes = std::int64_t{1} << 49;
inline constexpr std::int64_t kVolumeBytes = std::int64_t{1} << 30;

// As long as names in clusters are.
inline std::string NodeName(int number) {
  return fmt::format("node-{:05}.cluster.example.com", number);
}

// As external-provisioner makes them: "pvc-" and a UUID.
inline std::string VolumeName(const std::string& owner, int number) {
  static const std::string space = "5ca1ab1e-0000-4000-8000-000000000000";
  return "pvc-" + holdfast::UuidOfName(space, fmt::format("{}/{}", owner, number)).value();
}

}  // namespace bench
