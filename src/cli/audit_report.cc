// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_report.h"

#include <nlohmann/json.hpp>

#include "cli/inventory_tables.h"
#include "cli/output.h"

namespace holdfast::cli {
namespace {

using nlohmann::ordered_json;

Cell ResultCell(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFinding:
      return {"finding", Colour::kRed};
    case Verdict::kUnknown:
      return {"unknown", Colour::kYellow};
    default:
      return {"note"};
  }
}

std::string Counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

ordered_json EntriesOf(const Audit& audit, Verdict verdict) {
  ordered_json entries = ordered_json::array();
  for (const AuditEntry& entry : audit.entries) {
    if (entry.verdict != verdict) continue;
    entries.push_back(ordered_json{{"kind", entry.kind},
                                   {"subject", entry.subject},
                                   {"id", entry.id},
                                   {"claim", entry.claim},
                                   {"node", entry.node},
                                   {"size_bytes", entry.size},
                                   {"created_at", entry.created_at},
                                   {"problem", entry.problem}});
  }
  return entries;
}

}  // namespace

int ExitCodeOf(const Audit& audit) {
  if (audit.Count(Verdict::kUnknown) > 0) return kExitIncomplete;
  return audit.Count(Verdict::kFinding) > 0 ? kExitFindings : 0;
}

std::string AuditSummary(const Audit& audit) {
  std::string summary = fmt::format(
      "{}, {} unknown: {} and {} of {} were compared", Counted(audit.Count(Verdict::kFinding), "finding"),
      audit.Count(Verdict::kUnknown), Counted(audit.volumes, "volume"),
      Counted(audit.persistent_volumes, "PersistentVolume"), audit.driver);
  if (audit.snapshots_judged) {
    summary += fmt::format(", and {} and {}", Counted(audit.snapshots, "snapshot"),
                           Counted(audit.contents, "VolumeSnapshotContent"));
  }
  summary += fmt::format(" on {}", Counted(audit.nodes.size(), "node"));
  if (audit.of_other_nodes > 0) {
    summary += fmt::format("; {} of other nodes were not: the controller knows these",
                           audit.of_other_nodes);
  }
  if (!audit.snapshots_judged && audit.snapshots > 0) {
    summary += fmt::format(
        "; {} not: the list has no VolumeSnapshotContents (kubectl get pv,volumesnapshotcontent "
        "-o json, and --snapshots if there are none)",
        Counted(audit.snapshots, "snapshot") + (audit.snapshots == 1 ? " was" : " were"));
  }
  return summary + "\n";
}

std::string AuditText(const Audit& audit, absl::Time now, bool colours) {
  if (audit.entries.empty()) return AuditSummary(audit);
  Table table({{"RESULT"},
               {"KIND"},
               {"SUBJECT"},
               {"CLAIM"},
               {"NODE"},
               {"SIZE", true},
               {"AGE", true},
               {"PROBLEM"}});
  for (const AuditEntry& entry : audit.entries) {
    table.AddRow({ResultCell(entry.verdict),
                  {std::string(entry.kind)},
                  {entry.subject},
                  {entry.claim},
                  {entry.node},
                  {BytesText(entry.size)},
                  {AgeText(entry.created_at, now)},
                  {entry.problem}});
  }
  return table.Text(colours) + AuditSummary(audit);
}

std::string AuditJson(const Audit& audit) {
  const ordered_json object = {
      {"driver", audit.driver},
      {"complete", audit.Count(Verdict::kUnknown) == 0},
      {"nodes", audit.nodes},
      {"findings", EntriesOf(audit, Verdict::kFinding)},
      {"unknown", EntriesOf(audit, Verdict::kUnknown)},
      {"notes", EntriesOf(audit, Verdict::kNote)},
      {"volumes", audit.volumes},
      {"persistent_volumes", audit.persistent_volumes},
      {"snapshots", audit.snapshots},
      {"snapshots_judged", audit.snapshots_judged},
      {"snapshot_contents", audit.contents},
      {"of_other_nodes", audit.of_other_nodes}};
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace holdfast::cli
