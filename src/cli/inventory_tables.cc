// SPDX-License-Identifier: Apache-2.0
#include "cli/inventory_tables.h"

#include <fmt/ranges.h>

#include <iterator>
#include <utility>
#include <vector>

#include "core/bytes.h"
#include "core/retention.h"
#include "core/volume.h"

namespace holdfast::cli {
namespace {

void Append(std::vector<Cell>& cells, const std::vector<Cell>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
}

Cell ConditionCell(bool well, const std::string& problem) {
  return {well ? "ok" : problem, well ? Colour::kNone : Colour::kRed};
}

std::string CopyingText(Bytes copied, Bytes size) {
  return fmt::format("copying {} of {}", FormatBytes(copied), FormatBytes(size));
}

std::string UseText(const admin::v1::Volume& volume) {
  if (volume.target_paths_size() > 0)
    return fmt::format("published {}", volume.target_paths_size());
  if (!volume.staging_path().empty()) return "staged";
  return volume.device().empty() ? "idle" : "attached";
}

std::string MountPointsText(const admin::v1::Volume& volume) {
  std::string text = volume.staging_path();
  for (const std::string& target : volume.target_paths())
    text += (text.empty() ? "" : ",") + target;
  return text;
}

// A pod is in the namespace of its claim.
std::string PodsText(const admin::v1::Volume& volume) {
  std::vector<std::string> names;
  for (const std::string& pod : volume.pods()) names.push_back(pod.substr(pod.find('/') + 1));
  return fmt::format("{}", fmt::join(names, ","));
}

std::string BlocksText(const admin::v1::Snapshot& snapshot) {
  if (snapshot.shared_bytes() < 0) return "";
  if (snapshot.shared_bytes() == 0) return "own";
  return snapshot.provisioning() == ToString(Provisioning::kThick) ? "settling" : "shared";
}

std::string SnapshotText(const admin::v1::Snapshot& snapshot) {
  if (snapshot.volume_snapshot().empty()) return snapshot.name();
  return snapshot.kubernetes_namespace() + "/" + snapshot.volume_snapshot();
}

std::string TimeText(absl::Duration age) {
  if (age < absl::Minutes(2)) return fmt::format("{}s", absl::ToInt64Seconds(age));
  if (age < absl::Hours(2)) return fmt::format("{}m", absl::ToInt64Minutes(age));
  if (age < absl::Hours(48)) return fmt::format("{}h", absl::ToInt64Hours(age));
  return fmt::format("{}d", absl::ToInt64Hours(age) / 24);
}

}  // namespace

std::string AgeText(const std::string& rfc3339, absl::Time now) {
  absl::Time then;
  if (!absl::ParseTime(absl::RFC3339_full, rfc3339, &then, nullptr)) return "";
  return TimeText(std::max(now - then, absl::ZeroDuration()));
}

std::string StateText(const admin::v1::Volume& volume) {
  if (volume.state() != ToString(VolumeState::kCopying)) return volume.state();
  return CopyingText(volume.copied_bytes(), volume.capacity_bytes());
}

std::string StateText(const admin::v1::Snapshot& snapshot) {
  if (snapshot.ready_to_use()) return snapshot.held() ? "held" : "ready";
  return CopyingText(snapshot.copied_bytes(), snapshot.size_bytes());
}

std::string ClaimText(const admin::v1::Volume& volume) {
  if (volume.claim().empty()) return volume.name();
  return volume.kubernetes_namespace() + "/" + volume.claim();
}

std::string BytesText(std::int64_t bytes) { return bytes < 0 ? "" : FormatBytes(bytes); }

Table TableOf(const admin::v1::ListVolumesResponse& list, bool wide) {
  std::vector<Column> columns = {{"CLAIM"}, {"NODE"},      {"POOL"}, {"SIZE", true}, {"USED", true},
                                 {"STATE"}, {"CONDITION"}, {"PODS"}, {"AGE", true}};
  if (wide) {
    columns.insert(columns.end(), {{"ID"},
                                   {"NAME"},
                                   {"PROVISIONING"},
                                   {"FILESYSTEM"},
                                   {"USE"},
                                   {"DEVICE"},
                                   {"CREATED"},
                                   {"SOURCE"},
                                   {"MOUNT POINTS"},
                                   {"MESSAGE"}});
  }
  Table table(std::move(columns));
  const absl::Time now = absl::Now();
  for (const admin::v1::Volume& volume : list.volumes()) {
    const Cell condition = ConditionCell(!volume.abnormal(), "abnormal");
    std::vector<Cell> cells = {{ClaimText(volume)},
                               {volume.node()},
                               {volume.pool()},
                               {FormatBytes(volume.capacity_bytes())},
                               {BytesText(volume.allocated_bytes())},
                               {StateText(volume)},
                               condition,
                               {PodsText(volume)},
                               {AgeText(volume.created_at(), now)}};
    if (wide) {
      Append(cells, {{volume.id()},
                     {volume.name()},
                     {volume.provisioning()},
                     {volume.filesystem().empty() ? "(block)" : volume.filesystem()},
                     {UseText(volume)},
                     {volume.device()},
                     {volume.created_at()},
                     {volume.source().empty() ? "(none)" : volume.source()},
                     {MountPointsText(volume)},
                     {volume.condition(), condition.colour}});
    }
    table.AddRow(cells);
  }
  return table;
}

Table TableOf(const admin::v1::ListSnapshotsResponse& list, bool wide) {
  std::vector<Column> columns = {{"SNAPSHOT"}, {"NODE"},   {"POOL"},     {"SIZE", true},
                                 {"STATE"},    {"BLOCKS"}, {"AGE", true}};
  if (wide) {
    columns.insert(columns.end(), {{"ID"},
                                   {"NAME"},
                                   {"PROVISIONING"},
                                   {"CREATED"},
                                   {"OCCUPIED", true},
                                   {"SHARED", true},
                                   {"VOLUME"}});
  }
  Table table(std::move(columns));
  const absl::Time now = absl::Now();
  for (const admin::v1::Snapshot& snapshot : list.snapshots()) {
    std::vector<Cell> cells = {{SnapshotText(snapshot)},
                               {snapshot.node()},
                               {snapshot.pool()},
                               {FormatBytes(snapshot.size_bytes())},
                               {StateText(snapshot)},
                               {BlocksText(snapshot)},
                               {AgeText(snapshot.created_at(), now)}};
    if (wide) {
      Append(cells, {{snapshot.id()},
                     {snapshot.name()},
                     {snapshot.provisioning()},
                     {snapshot.created_at()},
                     {BytesText(snapshot.occupied_bytes())},
                     {BytesText(snapshot.shared_bytes())},
                     {snapshot.source_volume_id()}});
    }
    table.AddRow(cells);
  }
  return table;
}

Table TableOf(const admin::v1::ListPoolsResponse& list, bool wide) {
  std::vector<Column> columns = {
      {"NAME"},        {"NODE"},       {"SIZE", true},    {"FREE", true},     {"PROVISIONED", true},
      {"THICK", true}, {"THIN", true}, {"VOLUMES", true}, {"SNAPSHOTS", true}};
  if (wide) columns.insert(columns.end(), {{"KIND"}, {"LOCATION"}, {"FILESYSTEM"}, {"ID"}});
  columns.push_back({"STATE"});
  Table table(std::move(columns));
  for (const admin::v1::Pool& pool : list.pools()) {
    const bool well = pool.problem().empty();
    const auto size = [&](Bytes value) { return Cell{well ? FormatBytes(value) : ""}; };
    const auto count = [&](std::int64_t value) { return Cell{well ? fmt::to_string(value) : ""}; };
    std::vector<Cell> cells = {{pool.name()},
                               {pool.node()},
                               size(pool.total_bytes()),
                               size(pool.free_bytes()),
                               size(pool.thick_provisioned_bytes() + pool.thin_provisioned_bytes()),
                               size(pool.thick_available_bytes()),
                               size(pool.thin_available_bytes()),
                               count(pool.volumes()),
                               count(pool.snapshots())};
    if (wide) {
      Append(cells, {{pool.kind()}, {pool.location()}, {pool.default_filesystem()}, {pool.id()}});
    }
    cells.push_back(ConditionCell(well, pool.problem()));
    table.AddRow(cells);
  }
  return table;
}

Table TableOf(const admin::v1::ListNodesResponse& list, bool wide) {
  std::vector<Column> columns = {{"NAME"},          {"STATE"},           {"POOLS", true},
                                 {"VOLUMES", true}, {"SNAPSHOTS", true}, {"THICK", true},
                                 {"THIN", true}};
  if (wide) columns.push_back({"VERSION"});
  columns.push_back({"CONDITION"});
  Table table(std::move(columns));
  for (const admin::v1::Node& node : list.nodes()) {
    std::vector<Cell> cells = {{node.name()},
                               {node.state()},
                               {fmt::to_string(node.pools())},
                               {fmt::to_string(node.volumes())},
                               {fmt::to_string(node.snapshots())},
                               {FormatBytes(node.thick_available_bytes())},
                               {FormatBytes(node.thin_available_bytes())}};
    if (wide) cells.push_back({node.version()});
    cells.push_back(ConditionCell(node.problem().empty(), node.problem()));
    table.AddRow(cells);
  }
  return table;
}

Table TableOf(const admin::v1::ListLeftoversResponse& list, bool wide) {
  std::vector<Column> columns = {{"KIND"}, {"NODE"}, {"SUBJECT"}, {"AGE", true}, {"PROBLEM"}};
  if (wide) columns.push_back({"REMEDY"});
  Table table(std::move(columns));
  const absl::Time now = absl::Now();
  for (const admin::v1::Leftover& leftover : list.leftovers()) {
    std::vector<Cell> cells = {{leftover.kind()},
                               {leftover.node()},
                               {leftover.subject()},
                               {AgeText(leftover.since(), now)},
                               {leftover.problem()}};
    if (wide) cells.push_back({leftover.remedy()});
    table.AddRow(cells);
  }
  return table;
}

Table TableOf(const admin::v1::ListTrashResponse& list, bool wide) {
  std::vector<Column> columns = {{"OF"},         {"KIND"},       {"NODE"},    {"POOL"},
                                 {"SIZE", true}, {"USED", true}, {"DELETED"}, {"PURGED IN", true},
                                 {"ID"}};
  if (wide) columns.insert(columns.end(), {{"NAME"}, {"FILESYSTEM"}, {"KEPT FOR"}, {"HAD THE ID"}});
  Table table(std::move(columns));
  for (const admin::v1::TrashEntry& entry : list.trash()) {
    const std::string of = entry.kubernetes_name().empty()
                               ? entry.name()
                               : entry.kubernetes_namespace() + "/" + entry.kubernetes_name();
    std::vector<Cell> cells = {{of},
                               {entry.kind()},
                               {entry.node()},
                               {entry.pool()},
                               {FormatBytes(entry.capacity_bytes())},
                               {BytesText(entry.allocated_bytes())},
                               {entry.deleted_at()},
                               {TimeText(absl::Seconds(entry.remaining_seconds()))},
                               {entry.id()}};
    if (wide) {
      Append(cells, {{entry.name()},
                     {entry.filesystem().empty() ? "(block)" : entry.filesystem()},
                     {FormatRetention(std::chrono::seconds(entry.keep_seconds()))},
                     {entry.volume_id()}});
    }
    table.AddRow(cells);
  }
  return table;
}

}  // namespace holdfast::cli
