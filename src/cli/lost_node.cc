// SPDX-License-Identifier: Apache-2.0
#include "cli/lost_node.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "cli/terminal.h"
#include "core/kubernetes_name.h"

namespace holdfast::cli {
namespace {

using nlohmann::ordered_json;
using Arguments = std::vector<std::string>;

// The commands are to be run, so no name of a file of objects gets into them unchecked.
absl::Status CheckNames(const LostNode& lost) {
  const auto refuse = [](const std::string& name) {
    return InvalidArgument("'{}' is not a name that Kubernetes allows", name);
  };
  for (const LostVolume& volume : lost.volumes) {
    if (!IsKubernetesName(volume.object->name)) return refuse(volume.object->name);
    const std::string& claim = volume.object->claim;
    if (!claim.empty() && !IsNamespacedName(claim)) return refuse(claim);
  }
  for (const SnapshotContent* const content : lost.contents) {
    if (!IsKubernetesName(content->name)) return refuse(content->name);
    const std::string& snapshot = content->snapshot;
    if (!snapshot.empty() && !IsNamespacedName(snapshot)) return refuse(snapshot);
  }
  for (const Pod* const pod : lost.pods) {
    if (!IsNamespacedName(pod->name)) return refuse(pod->name);
  }
  return absl::OkStatus();
}

void AddPools(const Inventory& inventory, const std::string& pool, LostNode& lost) {
  for (const admin::v1::Pool& one : inventory.pools.pools()) {
    if (one.node() != lost.node || (!pool.empty() && one.name() != pool)) continue;
    lost.pools[one.name()] = IsUuid(one.id()) ? one.id() : "";
  }
}

void AddObjects(const KubernetesObjects& objects, const std::string& driver,
                const std::string& pool, LostNode& lost) {
  const auto is_lost = [&](const std::optional<VolumeId>& id) {
    return id && id->node == lost.node && (pool.empty() || id->pool == pool);
  };
  for (const PersistentVolume& volume : objects.volumes) {
    if (volume.driver != driver) continue;
    const auto id = VolumeId::Parse(volume.handle);
    if (!is_lost(id)) continue;
    lost.volumes.push_back({.object = &volume, .id = *id});
    lost.pools.try_emplace(id->pool);
  }
  for (const SnapshotContent& content : objects.contents) {
    if (content.driver != driver || !is_lost(ParseSnapshotId(content.handle))) continue;
    lost.contents.push_back(&content);
    lost.pools.try_emplace(ParseSnapshotId(content.handle)->pool);
  }
  std::ranges::sort(lost.volumes, {}, [](const LostVolume& volume) {
    return std::tie(volume.id.pool, volume.object->claim, volume.object->name);
  });
}

void AddPods(const KubernetesObjects& objects, LostNode& lost) {
  std::set<std::string> claims;
  for (const LostVolume& volume : lost.volumes) claims.insert(volume.object->claim);
  for (const Pod& pod : objects.pods) {
    if (std::ranges::any_of(pod.claims, [&](const auto& name) { return claims.contains(name); })) {
      lost.pods.push_back(&pod);
    }
  }
  lost.pods_listed = !objects.pods.empty();
}

Arguments Delete(const char* kind, const std::string& namespaced, Arguments flags) {
  const std::size_t slash = namespaced.find('/');
  Arguments command{"kubectl", "-n", namespaced.substr(0, slash),
                    "delete",  kind, namespaced.substr(slash + 1)};
  command.insert(command.end(), std::make_move_iterator(flags.begin()),
                 std::make_move_iterator(flags.end()));
  return command;
}

std::vector<Arguments> ClaimCommands(const LostNode& lost) {
  std::vector<Arguments> commands;
  for (const LostVolume& volume : lost.volumes) {
    if (volume.object->claim.empty()) continue;
    commands.push_back(Delete("pvc", volume.object->claim, {"--wait=false"}));
  }
  return commands;
}

std::vector<Arguments> PodCommands(const LostNode& lost) {
  std::vector<Arguments> commands;
  for (const Pod* const pod : lost.pods) {
    // Nothing on a lost node can confirm that the pod has ended.
    const bool unconfirmed = lost.whole && pod->node == lost.node;
    commands.push_back(
        Delete("pod", pod->name,
               unconfirmed ? Arguments{"--force", "--grace-period=0"} : Arguments{"--wait=false"}));
  }
  return commands;
}

// Kubernetes deletes neither of these by itself.
std::vector<Arguments> VolumeCommands(const LostNode& lost) {
  std::vector<Arguments> commands;
  for (const LostVolume& volume : lost.volumes) {
    if (!volume.object->is_retained && !volume.object->claim.empty()) continue;
    commands.push_back({"kubectl", "delete", "pv", volume.object->name, "--wait=false"});
  }
  return commands;
}

std::vector<Arguments> SnapshotCommands(const LostNode& lost) {
  std::vector<Arguments> commands;
  for (const SnapshotContent* const content : lost.contents) {
    if (content->snapshot.empty()) continue;
    commands.push_back(Delete("volumesnapshot", content->snapshot, {"--wait=false"}));
  }
  return commands;
}

std::vector<std::pair<const char*, std::vector<Arguments>>> Steps(const LostNode& lost) {
  std::vector<std::pair<const char*, std::vector<Arguments>>> steps;
  if (lost.whole) {
    steps.emplace_back("The node, if the machine is gone:",
                       std::vector<Arguments>{{"kubectl", "delete", "node", lost.node}});
  }
  steps.emplace_back("The claims, before their pods:", ClaimCommands(lost));
  steps.emplace_back("The pods, which a StatefulSet makes again with new claims:",
                     PodCommands(lost));
  steps.emplace_back("PersistentVolumes that are not deleted with a claim:", VolumeCommands(lost));
  steps.emplace_back("Snapshots:", SnapshotCommands(lost));
  std::erase_if(steps, [](const auto& step) { return step.second.empty(); });
  return steps;
}

std::string Declaration(const LostNode& lost) {
  std::string text = "# 1. Declare it, in the values of the chart, and upgrade:\n#   lostPools:\n";
  bool all_known = true;
  for (const auto& [name, id] : lost.pools) {
    all_known = all_known && !id.empty();
    text += fmt::format("#     - {{node: {}, pool: {}, id: {}}}\n", lost.node, name,
                        id.empty() ? "?" : id);
  }
  if (all_known) return text;
  return text +
         "#   An id that is not known is in the metric holdfast_pool_info, and in "
         "holdfast-pool.json on the\n"
         "#   disk.\n";
}

std::string Contents(const LostNode& lost) {
  std::string text =
      fmt::format("# Lost with {}{}:\n", lost.whole ? "node " : "a disk of node ", lost.node);
  for (const LostVolume& volume : lost.volumes) {
    const PersistentVolume& object = *volume.object;
    text += fmt::format("#   {} of {}, {}, in pool {}\n", object.name,
                        object.claim.empty() ? "no claim" : object.claim,
                        Printable(object.capacity), volume.id.pool);
  }
  for (const SnapshotContent* const content : lost.contents) {
    text += fmt::format("#   snapshot {} of {}\n", content->name,
                        content->snapshot.empty() ? "no VolumeSnapshot" : content->snapshot);
  }
  if (lost.volumes.empty() && lost.contents.empty()) text += "#   nothing\n";
  return text;
}

}  // namespace

absl::StatusOr<LostNode> FindLost(const std::string& node, const std::string& pool,
                                  const KubernetesObjects& objects, const Inventory& inventory) {
  RETURN_IF_ERROR(ValidateNodeId(node));
  if (!pool.empty()) RETURN_IF_ERROR(ValidatePoolName(pool));
  if (pool.empty() && inventory.connected.contains(node)) {
    return FailedPrecondition(
        "node '{}' is connected, so it is not lost; of a disk, give its pool: --pool=NAME", node);
  }
  LostNode lost{.node = node, .whole = pool.empty()};
  AddPools(inventory, pool, lost);
  AddObjects(objects, inventory.driver, pool, lost);
  AddPods(objects, lost);
  RETURN_IF_ERROR(CheckNames(lost));
  if (lost.pools.empty()) {
    return NotFound(
        "no PersistentVolume of {} is on node '{}'{}, and Holdfast does not know it; see "
        "`holdfast nodes`",
        inventory.driver, node, pool.empty() ? "" : fmt::format(" in pool '{}'", pool));
  }
  return lost;
}

std::string LostNodeScript(const LostNode& lost) {
  std::string text = Contents(lost) + "\n" + Declaration(lost) + "\n# 2. Replace what is lost.\n";
  for (const auto& [title, commands] : Steps(lost)) {
    text += fmt::format("# {}\n", title);
    for (const Arguments& command : commands) {
      text += fmt::format("{}\n", fmt::join(command, " "));
    }
  }
  if (!lost.pods_listed && !ClaimCommands(lost).empty()) {
    text +=
        "# The list has no pods: delete the pod of each claim after it (kubectl get pods -A).\n";
  }
  return text;
}

std::string LostNodeJson(const LostNode& lost) {
  ordered_json json = {{"node", lost.node},
                       {"whole_node", lost.whole},
                       {"pools", ordered_json::array()},
                       {"volumes", ordered_json::array()},
                       {"snapshots", ordered_json::array()},
                       {"pods", ordered_json::array()},
                       {"pods_listed", lost.pods_listed},
                       {"commands", ordered_json::array()}};
  for (const auto& [name, id] : lost.pools) json["pools"].push_back({{"name", name}, {"id", id}});
  for (const LostVolume& volume : lost.volumes) {
    json["volumes"].push_back({{"persistent_volume", volume.object->name},
                               {"id", volume.object->handle},
                               {"claim", volume.object->claim},
                               {"capacity", volume.object->capacity},
                               {"retained", volume.object->is_retained}});
  }
  for (const SnapshotContent* const content : lost.contents) {
    json["snapshots"].push_back({{"content", content->name},
                                 {"id", content->handle},
                                 {"volume_snapshot", content->snapshot}});
  }
  for (const Pod* const pod : lost.pods) json["pods"].push_back(pod->name);
  for (const auto& [title, commands] : Steps(lost)) {
    for (const Arguments& command : commands) json["commands"].push_back(command);
  }
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
