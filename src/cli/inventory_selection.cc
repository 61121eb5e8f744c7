// SPDX-License-Identifier: Apache-2.0
#include "cli/inventory_selection.h"

#include <algorithm>
#include <tuple>

#include "core/trash_id.h"
#include "core/volume_id.h"

namespace holdfast::cli {
namespace {

bool IsSelected(const std::string& wanted, const std::string& value) {
  return wanted.empty() || wanted == value;
}

// The pool of a volume, of a snapshot or of a pool itself.
std::string PoolOf(const admin::v1::Leftover& leftover) {
  if (const auto volume = VolumeId::Parse(leftover.subject())) return volume->pool;
  if (const auto snapshot = ParseSnapshotId(leftover.subject())) return snapshot->pool;
  if (const auto entry = TrashId::Parse(leftover.subject())) return entry->pool;
  return leftover.subject();
}

bool Matches(const Selection& selection, const admin::v1::Pool& pool) {
  return IsSelected(selection.node, pool.node()) && IsSelected(selection.pool, pool.name()) &&
         (!selection.abnormal || !pool.problem().empty());
}
bool Matches(const Selection& selection, const admin::v1::Volume& volume) {
  return IsSelected(selection.node, volume.node()) && IsSelected(selection.pool, volume.pool()) &&
         IsSelected(selection.name_space, volume.kubernetes_namespace()) &&
         (!selection.abnormal || volume.abnormal());
}
bool Matches(const Selection& selection, const admin::v1::Snapshot& snapshot) {
  return IsSelected(selection.node, snapshot.node()) &&
         IsSelected(selection.pool, snapshot.pool()) &&
         IsSelected(selection.name_space, snapshot.kubernetes_namespace());
}
bool Matches(const Selection& selection, const admin::v1::Node& node) {
  return IsSelected(selection.node, node.name()) &&
         (!selection.abnormal || !node.problem().empty());
}
bool Matches(const Selection& selection, const admin::v1::Leftover& leftover) {
  return IsSelected(selection.node, leftover.node()) &&
         IsSelected(selection.pool, PoolOf(leftover));
}
bool Matches(const Selection& selection, const admin::v1::TrashEntry& entry) {
  return IsSelected(selection.node, entry.node()) && IsSelected(selection.pool, entry.pool()) &&
         IsSelected(selection.name_space, entry.kubernetes_namespace());
}

auto OrderOf(const admin::v1::Pool& pool) { return std::tie(pool.node(), pool.name()); }
auto OrderOf(const admin::v1::Volume& volume) {
  return std::tie(volume.node(), volume.pool(), volume.kubernetes_namespace(), volume.claim(),
                  volume.name());
}
auto OrderOf(const admin::v1::Snapshot& snapshot) {
  return std::tie(snapshot.node(), snapshot.pool(), snapshot.kubernetes_namespace(),
                  snapshot.volume_snapshot(), snapshot.name());
}
auto OrderOf(const admin::v1::Node& node) { return std::tie(node.name()); }
auto OrderOf(const admin::v1::Leftover& leftover) {
  return std::tie(leftover.node(), leftover.subject(), leftover.kind());
}
auto OrderOf(const admin::v1::TrashEntry& entry) {
  return std::tie(entry.node(), entry.pool(), entry.deleted_at(), entry.id());
}

template <typename Entries>
void SelectIn(const Selection& selection, Entries& entries) {
  const auto last = std::remove_if(entries.begin(), entries.end(),
                                   [&](const auto& entry) { return !Matches(selection, entry); });
  entries.erase(last, entries.end());
  std::sort(entries.begin(), entries.end(),
            [](const auto& left, const auto& right) { return OrderOf(left) < OrderOf(right); });
}

}  // namespace

void Select(const Selection& selection, admin::v1::ListPoolsResponse& list) {
  SelectIn(selection, *list.mutable_pools());
}
void Select(const Selection& selection, admin::v1::ListVolumesResponse& list) {
  SelectIn(selection, *list.mutable_volumes());
}
void Select(const Selection& selection, admin::v1::ListSnapshotsResponse& list) {
  SelectIn(selection, *list.mutable_snapshots());
}
void Select(const Selection& selection, admin::v1::ListNodesResponse& list) {
  SelectIn(selection, *list.mutable_nodes());
}
void Select(const Selection& selection, admin::v1::ListLeftoversResponse& list) {
  SelectIn(selection, *list.mutable_leftovers());
}
void Select(const Selection& selection, admin::v1::ListTrashResponse& list) {
  SelectIn(selection, *list.mutable_trash());
}

}  // namespace holdfast::cli
