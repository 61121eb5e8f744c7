// SPDX-License-Identifier: Apache-2.0
#include "rbd/record_table.h"

#include <algorithm>
#include <cerrno>

#include "core/trash_id.h"
#include "rbd/record_objects.h"
#include "rbd/trash_table.h"

namespace holdfast::rbd {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr std::size_t kUuidText = 36;
constexpr std::size_t kPage = 500;  // pairs of one read

void AddTo(RecordTable::Page& page, const std::string& key, const std::string& text) {
  auto record = DecodeTrashed(key, text);
  if (record.ok()) {
    page.trashed.push_back(*std::move(record));
  } else {
    page.damaged_in_trash.push_back(key);
  }
}

}  // namespace

absl::StatusOr<RecordEntry> RecordTable::Read(const CephPool& pool, const std::string& uuid) {
  ASSIGN_OR_RETURN(auto found, ReadOmap(pool, RecordObjectOf(uuid), {uuid, NodesKey(uuid)}));
  if (!found.contains(uuid)) return NotFound("there is no volume {}", uuid);
  RecordEntry entry{
      .record = {}, .nodes = {}, .record_text = found[uuid], .nodes_text = found[NodesKey(uuid)]};
  ASSIGN_OR_RETURN(entry.record, DecodeRecordOf(uuid, entry.record_text));
  auto nodes = DecodeNodes(entry.nodes_text);
  if (!nodes.ok()) return Annotate(nodes.status(), fmt::format("volume {}", uuid));
  entry.nodes = *std::move(nodes);
  return entry;
}

absl::StatusOr<RecordEntry> RecordTable::Insert(const CephPool& pool,
                                                const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  RecordEntry entry{
      .record = record, .nodes = {}, .record_text = pool::EncodeRecord(record), .nodes_text = ""};
  const CallResult result =
      ChangeOmap(pool, RecordObjectOf(uuid),
                 {.guards = {{uuid, ""}}, .values = {{uuid, entry.record_text}}, .removals = {}},
                 fmt::format("record volume {}", uuid));
  if (result.error == ECANCELED) return AlreadyExists("there is a volume {} already", uuid);
  RETURN_IF_ERROR(result.status);
  return entry;
}

absl::Status RecordTable::Replace(const CephPool& pool, RecordEntry& entry,
                                  const pool::VolumeRecord& record, bool as_holder) {
  const std::string& uuid = entry.record.volume.id.uuid;
  const std::string text = pool::EncodeRecord(record);
  OmapChange change{
      .guards = {{uuid, entry.record_text}}, .values = {{uuid, text}}, .removals = {}};
  if (as_holder) change.guards.emplace(NodesKey(uuid), entry.nodes_text);
  RETURN_IF_ERROR(ChangeRecords(pool, uuid, change, "record"));
  entry.record = record;
  entry.record_text = text;
  return absl::OkStatus();
}

absl::Status RecordTable::Remove(const CephPool& pool, const RecordEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  const absl::Status removed = ChangeRecords(
      pool, uuid,
      {.guards = {{uuid, entry.record_text}}, .values = {}, .removals = {uuid, NodesKey(uuid)}},
      "forget");
  if (!absl::IsAborted(removed)) return removed;
  return absl::IsNotFound(Read(pool, uuid).status()) ? absl::OkStatus() : removed;
}

absl::Status RecordTable::SetNodes(const CephPool& pool, RecordEntry& entry,
                                   const VolumeNodes& nodes) {
  const std::string& uuid = entry.record.volume.id.uuid;
  const std::string text = EncodeNodes(nodes);
  OmapChange change{.guards = {{uuid, entry.record_text}, {NodesKey(uuid), entry.nodes_text}},
                    .values = {},
                    .removals = {}};
  if (text.empty()) {
    change.removals.push_back(NodesKey(uuid));
  } else {
    change.values.emplace(NodesKey(uuid), text);
  }
  RETURN_IF_ERROR(ChangeRecords(pool, uuid, change, "record the nodes of"));
  entry.nodes = nodes;
  entry.nodes_text = text;
  return absl::OkStatus();
}

absl::StatusOr<RecordTable::Page> RecordTable::List(const CephPool& pool,
                                                    const std::string& after_uuid,
                                                    std::size_t limit) {
  Page listed;
  std::vector<pool::VolumeRecord>& records = listed.records;
  for (const char* digit = kDigits; *digit != '\0'; ++digit) {
    if (!after_uuid.empty() && *digit < after_uuid.front()) continue;
    // '~' comes after "/nodes".
    std::string after = after_uuid.empty() ? "" : after_uuid + "~";
    for (bool more = true; more;) {
      const std::size_t page = limit == 0 ? kPage : std::min(kPage, 2 * (limit - records.size()));
      ASSIGN_OR_RETURN(const auto pairs, ListOmap(pool, RecordObject(*digit), after, page, more));
      if (pairs.empty()) break;
      after = pairs.rbegin()->first;
      for (const auto& [key, text] : pairs) {
        if (IsTrashKey(key)) {
          AddTo(listed, key, text);
          continue;
        }
        if (key.size() != kUuidText) continue;  // nodes
        auto record = DecodeRecordOf(key, text);
        if (record.ok()) {
          records.push_back(*std::move(record));
        } else {
          listed.damaged.push_back(key);
        }
        if (limit != 0 && records.size() == limit) return listed;
      }
    }
  }
  return listed;
}

}  // namespace holdfast::rbd
