// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_findings.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/kubernetes_quantity.h"
#include "core/topology_segment.h"
#include "core/volume.h"

namespace holdfast::cli {
namespace {

// Kubernetes' own name for a node in affinities that people write.
constexpr char kHostname[] = "kubernetes.io/hostname";

// NAMESPACE/NAME; empty if the name is not recorded.
std::string ObjectName(const std::string& name_space, const std::string& name) {
  return name.empty() ? "" : name_space + "/" + name;
}

std::string SizeProblem(const PersistentVolume& object, Bytes size) {
  const auto said = ParseQuantity(object.capacity);
  if (!said.ok()) return "spec.capacity.storage: " + MessageOf(said.status());
  if (*said == size) return "";
  return fmt::format("the PersistentVolume says {}, the volume has {}", object.capacity,
                     FormatQuantity(size));
}

bool Requires(const std::vector<NodeRequirement>& term, const std::string& key,
              const std::string& node) {
  return std::ranges::any_of(term, [&](const NodeRequirement& requirement) {
    return (requirement.key == key || requirement.key == kHostname) &&
           requirement.values == std::vector<std::string>{node};
  });
}

// Of a volume whose bytes are on that node.
std::string NodeProblem(const PersistentVolume& object, const std::string& key,
                        const std::string& node) {
  const bool any = object.node_terms.empty();
  const bool only_there = std::ranges::all_of(
      object.node_terms, [&](const auto& term) { return Requires(term, key, node); });
  if (!any && only_there) return "";
  std::set<std::string> named;
  for (const auto& term : object.node_terms) {
    for (const NodeRequirement& requirement : term) {
      if (requirement.key != key && requirement.key != kHostname) continue;
      named.insert(requirement.values.begin(), requirement.values.end());
    }
  }
  const std::string says =
      named.empty() ? "names no node" : fmt::format("names {}", fmt::join(named, ", "));
  return fmt::format("its node affinity {}, the bytes are on {}", says, node);
}

class Comparison final {
 public:
  Comparison(const Inventory& inventory, const KubernetesObjects& objects, absl::Time now,
             Owners& owners, Audit& audit)
      : inventory_(inventory), objects_(objects), now_(now), owners_(owners), audit_(audit) {}

  void Volumes();
  void Snapshots();
  void Leftovers();
  void Trash();
  void Unreachable();

 private:
  void Judge(const PersistentVolume& object, const admin::v1::Volume* volume);
  void Judge(const SnapshotContent& object, bool listed);
  void Matched(const PersistentVolume& object, AuditEntry entry, Bytes size);
  void JudgeWithoutObject(const admin::v1::Volume& volume);
  void JudgeWithoutObject(const admin::v1::Snapshot& snapshot);

  // Whether its bytes are on a node that this instance knows nothing of.
  [[nodiscard]] bool IsElsewhere(const VolumeId& id) const {
    return !inventory_.node.empty() && !id.node.empty() && id.node != inventory_.node;
  }
  // Adds the verdict on something that no list has, unless its owner, which `ask` asks, has it.
  void Missing(AuditEntry entry, const std::optional<VolumeId>& place, bool being_deleted,
               const std::function<absl::Status()>& ask);
  // What is wrong with something that does not exist.
  [[nodiscard]] std::string Absence(const std::string& id) const;
  // Why a node's lists are not proof enough that something does not exist; empty if they are.
  [[nodiscard]] std::string Doubt(const std::string& id) const;
  [[nodiscard]] bool IsYoung(const std::string& created_at) const {
    const auto age = AgeOf(created_at, now_);
    return age && *age < kTimeForObject;
  }
  void Add(Verdict verdict, AuditEntry entry, std::string problem) {
    entry.verdict = verdict;
    entry.problem = std::move(problem);
    audit_.entries.push_back(std::move(entry));
  }

  const Inventory& inventory_;
  const KubernetesObjects& objects_;
  const absl::Time now_;
  Owners& owners_;
  Audit& audit_;
};

std::string Comparison::Doubt(const std::string& id) const {
  if (!inventory_.looked_for_leftovers) return "the instance has not examined its pools yet";
  const auto& leftovers = inventory_.leftovers.leftovers();
  const auto left = std::ranges::find(leftovers, id, &admin::v1::Leftover::subject);
  return left == leftovers.end() ? "" : fmt::format("{}: {}", left->kind(), left->problem());
}

std::string Comparison::Absence(const std::string& id) const {
  const auto& trash = inventory_.trash.trash();
  const auto kept = std::ranges::find(trash, id, &admin::v1::TrashEntry::volume_id);
  if (kept == trash.end()) return "its data does not exist";
  return fmt::format("it was deleted, and `holdfast trash restore {}` brings it back", kept->id());
}

void Comparison::Missing(AuditEntry entry, const std::optional<VolumeId>& place, bool being_deleted,
                         const std::function<absl::Status()>& ask) {
  if (!place) return Add(Verdict::kFinding, std::move(entry), "Holdfast never made such an id");
  if (IsElsewhere(*place)) {
    ++audit_.of_other_nodes;
    return;
  }
  if (auto why = inventory_.WhyUnknown(*place)) {
    return Add(Verdict::kUnknown, std::move(entry), *std::move(why));
  }
  const absl::Status found = ask();
  if (found.ok()) return;
  if (absl::IsUnimplemented(found)) {
    if (std::string doubt = Doubt(entry.id); !doubt.empty()) {
      return Add(Verdict::kUnknown, std::move(entry), std::move(doubt));
    }
  } else if (!absl::IsNotFound(found)) {
    return Add(Verdict::kUnknown, std::move(entry), MessageOf(found));
  }
  if (being_deleted) return Add(Verdict::kNote, std::move(entry), "it is being deleted");
  std::string problem = Absence(entry.id);
  Add(Verdict::kFinding, std::move(entry), std::move(problem));
}

void Comparison::Matched(const PersistentVolume& object, AuditEntry entry, Bytes size) {
  entry.size = size;
  if (std::string problem = SizeProblem(object, size); !problem.empty()) {
    entry.kind = "size-differs";
    Add(Verdict::kFinding, entry, std::move(problem));
  }
  if (entry.node.empty()) return;
  std::string problem = NodeProblem(object, NodeTopologyKey(inventory_.driver), entry.node);
  if (problem.empty()) return;
  entry.kind = "node-differs";
  Add(Verdict::kFinding, std::move(entry), std::move(problem));
}

void Comparison::Judge(const PersistentVolume& object, const admin::v1::Volume* volume) {
  const auto place = VolumeId::Parse(object.handle);
  AuditEntry entry{.kind = "pv-without-data",
                   .subject = object.name,
                   .id = object.handle,
                   .claim = object.claim,
                   .node = place ? place->node : ""};
  if (volume != nullptr) {
    entry.created_at = volume->created_at();
    return Matched(object, std::move(entry), volume->capacity_bytes());
  }
  absl::StatusOr<csi::v1::Volume> found;
  Missing(entry, place, object.being_deleted, [&] {
    found = owners_.GetVolume(object.handle);
    return found.status();
  });
  // Made, or made whole, after the list.
  if (found.ok()) Matched(object, std::move(entry), found->capacity_bytes());
}

void Comparison::JudgeWithoutObject(const admin::v1::Volume& volume) {
  AuditEntry entry{.kind = "volume-without-pv",
                   .subject = volume.id(),
                   .id = volume.id(),
                   .claim = ObjectName(volume.kubernetes_namespace(), volume.claim()),
                   .node = volume.node(),
                   .size = volume.capacity_bytes(),
                   .created_at = volume.created_at()};
  if (volume.state() == ToString(VolumeState::kCopying)) {
    return Add(Verdict::kNote, std::move(entry), "it is a copy that is not complete");
  }
  if (IsYoung(volume.created_at())) {
    return Add(Verdict::kNote, std::move(entry),
               "it is new; its PersistentVolume may be on its way");
  }
  audit_.without_pv.push_back(&volume);
  Add(Verdict::kFinding, std::move(entry),
      volume.device().empty() ? "no PersistentVolume has its id"
                              : "no PersistentVolume has its id, and it is attached on its node");
}

void Comparison::Volumes() {
  absl::flat_hash_map<std::string_view, const admin::v1::Volume*> volumes;
  for (const auto& volume : inventory_.volumes.volumes()) volumes.emplace(volume.id(), &volume);
  absl::flat_hash_map<std::string_view, const PersistentVolume*> named;
  for (const PersistentVolume& object : objects_.volumes) {
    if (object.driver != inventory_.driver) continue;
    ++audit_.persistent_volumes;
    const auto volume = volumes.find(object.handle);
    Judge(object, volume == volumes.end() ? nullptr : volume->second);
    const auto [first, is_first] = named.emplace(object.handle, &object);
    if (is_first) continue;
    Add(Verdict::kFinding,
        {.kind = "two-pvs", .subject = object.name, .id = object.handle, .claim = object.claim},
        fmt::format("PersistentVolume '{}' has the same id", first->second->name));
  }
  for (const auto& volume : inventory_.volumes.volumes()) {
    if (!named.contains(volume.id())) JudgeWithoutObject(volume);
  }
  audit_.volumes = volumes.size();
}

void Comparison::Judge(const SnapshotContent& object, bool listed) {
  if (object.handle.empty() || listed) return;
  const auto place = ParseSnapshotId(object.handle);
  Missing({.kind = "content-without-data",
           .subject = object.name,
           .id = object.handle,
           .claim = object.snapshot,
           .node = place ? place->node : ""},
          place, object.being_deleted, [&] { return owners_.GetSnapshot(object.handle); });
}

// What is held for a copy elsewhere is removed when that is complete, and no CO knows it.
void Comparison::JudgeWithoutObject(const admin::v1::Snapshot& snapshot) {
  if (snapshot.held()) return;
  AuditEntry entry{.kind = "snapshot-without-content",
                   .subject = snapshot.id(),
                   .id = snapshot.id(),
                   .claim = ObjectName(snapshot.kubernetes_namespace(), snapshot.volume_snapshot()),
                   .node = snapshot.node(),
                   .size = snapshot.size_bytes(),
                   .created_at = snapshot.created_at()};
  if (IsYoung(snapshot.created_at())) {
    return Add(Verdict::kNote, std::move(entry),
               "it is new; its VolumeSnapshotContent may be on its way");
  }
  Add(Verdict::kFinding, std::move(entry), "no VolumeSnapshotContent has its id");
}

void Comparison::Snapshots() {
  absl::flat_hash_map<std::string_view, bool> named;  // by id; whether a content has it
  for (const auto& snapshot : inventory_.snapshots.snapshots()) named.emplace(snapshot.id(), false);
  for (const SnapshotContent& object : objects_.contents) {
    if (object.driver != inventory_.driver) continue;
    ++audit_.contents;
    const auto snapshot = named.find(object.handle);
    Judge(object, snapshot != named.end());
    if (snapshot != named.end()) snapshot->second = true;
  }
  for (const auto& snapshot : inventory_.snapshots.snapshots()) {
    if (!named[snapshot.id()]) JudgeWithoutObject(snapshot);
  }
}

void Comparison::Leftovers() {
  for (const admin::v1::Leftover& leftover : inventory_.leftovers.leftovers()) {
    Add(Verdict::kFinding,
        {.kind = "leftover",
         .subject = leftover.subject(),
         .node = leftover.node(),
         .created_at = leftover.since()},
        fmt::format("{}: {}", leftover.kind(), leftover.problem()));
  }
  if (inventory_.looked_for_leftovers) return;
  Add(Verdict::kUnknown, {.kind = "leftovers", .subject = inventory_.node, .node = inventory_.node},
      "the instance has just started and not examined its pools yet; try again");
}

void Comparison::Trash() {
  for (const admin::v1::TrashEntry& kept : inventory_.trash.trash()) {
    Add(Verdict::kNote,
        {.kind = "trash",
         .subject = kept.id(),
         .id = kept.volume_id(),
         .claim = ObjectName(kept.kubernetes_namespace(), kept.kubernetes_name()),
         .node = kept.node(),
         .size = kept.capacity_bytes(),
         .created_at = kept.created_at()},
        fmt::format("it was deleted on {} and will be purged", kept.deleted_at()));
  }
}

void Comparison::Unreachable() {
  if (inventory_.pools.pools().empty() && inventory_.unreachable.empty()) {
    Add(Verdict::kUnknown, {.kind = "nodes", .subject = "all"},
        "no node is connected, so there was nothing to ask");
  }
  for (const admin::v1::Unreachable& missing : inventory_.unreachable) {
    const bool whole_node = missing.pool().empty();
    Add(Verdict::kUnknown,
        {.kind = whole_node ? "node" : "pool",
         .subject = whole_node ? missing.node() : missing.pool(),
         .node = missing.node()},
        missing.problem());
  }
}

}  // namespace

std::optional<absl::Duration> AgeOf(const std::string& rfc3339, absl::Time now) {
  absl::Time then;
  if (!absl::ParseTime(absl::RFC3339_full, rfc3339, &then, nullptr)) return std::nullopt;
  return now - then;
}

std::size_t Audit::Count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(entries, verdict, &AuditEntry::verdict));
}

Audit Compare(const Inventory& inventory, const KubernetesObjects& objects, bool with_snapshots,
              absl::Time now, Owners& owners) {
  Audit audit;
  audit.driver = inventory.driver;
  audit.nodes = inventory.connected;
  audit.snapshots = static_cast<std::size_t>(inventory.snapshots.snapshots_size());
  audit.snapshots_judged = with_snapshots || !objects.contents.empty();
  Comparison comparison(inventory, objects, now, owners, audit);
  comparison.Volumes();
  if (audit.snapshots_judged) comparison.Snapshots();
  comparison.Leftovers();
  comparison.Trash();
  comparison.Unreachable();
  std::ranges::stable_sort(audit.entries, {}, [](const AuditEntry& entry) {
    return std::tuple(entry.verdict, entry.kind, entry.node, entry.claim, entry.subject);
  });
  return audit;
}

}  // namespace holdfast::cli
