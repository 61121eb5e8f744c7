// SPDX-License-Identifier: Apache-2.0
#include "cli/restored_objects.h"

#include <nlohmann/json.hpp>

#include "core/kubernetes_name.h"
#include "core/trash_id.h"
#include "core/volume.h"

namespace holdfast::cli {
namespace {

using admin::v1::RestoreTrashResponse;
using admin::v1::TrashEntry;
using nlohmann::ordered_json;

constexpr char kSnapshotApi[] = "snapshot.storage.k8s.io/v1";

struct Owner {  // the claim or the VolumeSnapshot
  std::string name_space;
  std::string name;
};

absl::StatusOr<Owner> OwnerOf(const TrashEntry& entry, const RestorationChoices& choices) {
  if (!choices.claim.empty()) {
    const std::size_t slash = choices.claim.find('/');
    return Owner{choices.claim.substr(0, slash), choices.claim.substr(slash + 1)};
  }
  if (!entry.kubernetes_namespace().empty() && !entry.kubernetes_name().empty()) {
    return Owner{entry.kubernetes_namespace(), entry.kubernetes_name()};
  }
  return NotFound(
      "'{}' is restored, but for whom it was made is not recorded, so no object is printed; "
      "`holdfast audit --adopt --claim` prints one for a volume",
      entry.volume_id());
}

// The recorded one, or the CO's name, or one that nothing else has.
std::string NameOf(const TrashEntry& entry) {
  for (const std::string& name : {entry.kubernetes_content(), entry.name()}) {
    if (IsKubernetesName(name)) return name;
  }
  const auto id = TrashId::Parse(entry.id());
  return "holdfast-" + (id ? id->place().uuid : std::string());
}

bool IsBlock(const TrashEntry& entry) {
  return entry.access_type() == ToString(AccessType::kBlock);
}

std::string ModeOf(const TrashEntry& entry) { return IsBlock(entry) ? "Block" : "Filesystem"; }

ordered_json ReachOf(const RestoreTrashResponse& restored) {
  const ordered_json expression = {{"key", restored.topology_key()},
                                   {"operator", "In"},
                                   {"values", ordered_json::array({restored.topology_value()})}};
  const ordered_json term = {{"matchExpressions", ordered_json::array({expression})}};
  return {{"required", {{"nodeSelectorTerms", ordered_json::array({term})}}}};
}

// By the annotation csi-provisioner knows a PersistentVolume as its own, should it be set to be
// deleted with its claim later.
ordered_json PersistentVolumeOf(const RestoreTrashResponse& restored, const Owner& claim,
                                const RestorationChoices& choices) {
  const TrashEntry& entry = restored.entry();
  ordered_json source = {{"driver", restored.driver()}, {"volumeHandle", entry.volume_id()}};
  if (!IsBlock(entry)) source["fsType"] = entry.filesystem();
  ordered_json spec = {{"capacity", {{"storage", fmt::to_string(entry.capacity_bytes())}}},
                       {"accessModes", ordered_json::array({choices.access_mode})},
                       {"volumeMode", ModeOf(entry)},
                       {"persistentVolumeReclaimPolicy", "Retain"},
                       {"claimRef",
                        {{"apiVersion", "v1"},
                         {"kind", "PersistentVolumeClaim"},
                         {"namespace", claim.name_space},
                         {"name", claim.name}}},
                       {"csi", std::move(source)}};
  if (!choices.storage_class.empty()) spec["storageClassName"] = choices.storage_class;
  if (!restored.topology_key().empty()) spec["nodeAffinity"] = ReachOf(restored);
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolume"},
          {"metadata",
           {{"name", NameOf(entry)},
            {"annotations", {{"pv.kubernetes.io/provisioned-by", restored.driver()}}}}},
          {"spec", std::move(spec)}};
}

ordered_json SnapshotObjectsOf(const RestoreTrashResponse& restored, const Owner& snapshot) {
  const TrashEntry& entry = restored.entry();
  const std::string content = NameOf(entry);
  const ordered_json bound = {
      {"apiVersion", kSnapshotApi},
      {"kind", "VolumeSnapshotContent"},
      {"metadata", {{"name", content}}},
      {"spec",
       {{"deletionPolicy", "Retain"},
        {"driver", restored.driver()},
        {"source", {{"snapshotHandle", entry.volume_id()}}},
        {"sourceVolumeMode", ModeOf(entry)},
        {"volumeSnapshotRef", {{"namespace", snapshot.name_space}, {"name", snapshot.name}}}}}};
  const ordered_json named = {
      {"apiVersion", kSnapshotApi},
      {"kind", "VolumeSnapshot"},
      {"metadata", {{"namespace", snapshot.name_space}, {"name", snapshot.name}}},
      {"spec", {{"source", {{"volumeSnapshotContentName", content}}}}}};
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", ordered_json::array({bound, named})}};
}

}  // namespace

absl::StatusOr<std::string> ObjectsFor(const RestoreTrashResponse& restored,
                                       const RestorationChoices& choices) {
  ASSIGN_OR_RETURN(const Owner owner, OwnerOf(restored.entry(), choices));
  const bool is_snapshot = restored.entry().kind() == ToString(VolumeRole::kSnapshot);
  const ordered_json objects = is_snapshot ? SnapshotObjectsOf(restored, owner)
                                           : PersistentVolumeOf(restored, owner, choices);
  return objects.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
