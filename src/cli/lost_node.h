// SPDX-License-Identifier: Apache-2.0
// What is lost with a node, or with one of its disks, and the kubectl commands that replace it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/audit_inventory.h"
#include "cli/audit_objects.h"
#include "core/volume_id.h"

namespace holdfast::cli {

struct LostVolume {
  const PersistentVolume* object = nullptr;
  VolumeId id{};
};

// Points into the objects of which it was made.
struct LostNode {
  std::string node{};
  bool whole = true;                           // not only one pool of it
  std::map<std::string, std::string> pools{};  // their ids by their names; empty: not known
  std::vector<LostVolume> volumes{};           // by pool and claim
  std::vector<const SnapshotContent*> contents{};
  std::vector<const Pod*> pods{};  // that use one of the volumes
  bool pods_listed = false;        // the objects had pods at all
};

// What of this driver is on the node, in the pool of that name only if `pool` is not empty.
// INVALID_ARGUMENT if `node` or `pool` cannot be a name, or an object has a name that Kubernetes
// does not allow. NOT_FOUND if nothing is on it and Holdfast does not know it. FAILED_PRECONDITION
// if the whole node is meant, and it is connected.
[[nodiscard]] absl::StatusOr<LostNode> FindLost(const std::string& node, const std::string& pool,
                                                const KubernetesObjects& objects,
                                                const Inventory& inventory);

// What would be deleted, as comments, and the commands, in the order in which they are to be run:
// claims first, then pods, so that a StatefulSet makes both again.
[[nodiscard]] std::string LostNodeScript(const LostNode& lost);
// The same as JSON; the commands are arrays of arguments.
[[nodiscard]] std::string LostNodeJson(const LostNode& lost);

}  // namespace holdfast::cli
