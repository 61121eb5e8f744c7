// SPDX-License-Identifier: Apache-2.0
#include "rbd/trash_table.h"

#include <utility>

#include "core/trash_id.h"
#include "rbd/record_objects.h"

namespace holdfast::rbd {
namespace {

const std::string& EntryUuid(const TrashedRecord& entry) { return entry.record.volume.id.uuid; }
const std::string& EntryKey(const TrashedRecord& entry) { return entry.record.trashed->key; }

}  // namespace

absl::StatusOr<pool::VolumeRecord> DecodeTrashed(const std::string& key, const std::string& text) {
  ASSIGN_OR_RETURN(pool::VolumeRecord record, DecodeRecordOf(UuidOfTrashKey(key), text));
  if (record.trashed && record.trashed->key == key) return record;
  return Internal("the record of entry {} of the trash does not say that it was deleted then", key);
}

absl::StatusOr<TrashedRecord> TrashTable::Read(const CephPool& pool, const std::string& key) {
  ASSIGN_OR_RETURN(auto found, ReadOmap(pool, RecordObjectOf(key), {key}));
  if (!found.contains(key)) return NotFound("there is no entry {} in the trash", key);
  ASSIGN_OR_RETURN(pool::VolumeRecord record, DecodeTrashed(key, found[key]));
  return TrashedRecord{.record = std::move(record), .text = std::move(found[key])};
}

absl::StatusOr<std::map<std::string, pool::VolumeRecord>> TrashTable::AllOf(
    const CephPool& pool, const std::string& uuid) {
  ASSIGN_OR_RETURN(const auto pairs, ReadOmapPrefix(pool, RecordObjectOf(uuid), uuid));
  std::map<std::string, pool::VolumeRecord> records;
  for (const auto& [key, text] : pairs) {
    if (key != uuid && !IsTrashKey(key)) continue;  // nodes
    ASSIGN_OR_RETURN(pool::VolumeRecord record,
                     key == uuid ? DecodeRecordOf(uuid, text) : DecodeTrashed(key, text));
    records.emplace(key, std::move(record));
  }
  return records;
}

absl::Status TrashTable::Put(const CephPool& pool, const RecordEntry& entry) {
  const std::string& uuid = entry.record.volume.id.uuid;
  const std::string& key = entry.record.trashed->key;
  return ChangeRecords(
      pool, uuid,
      {.guards = {{uuid, entry.record_text}, {NodesKey(uuid), entry.nodes_text}, {key, ""}},
       .values = {{key, entry.record_text}},
       .removals = {uuid, NodesKey(uuid)}},
      "move to the trash");
}

absl::Status TrashTable::TakeBack(const CephPool& pool, const TrashedRecord& entry,
                                  const pool::VolumeRecord& next) {
  const std::string& uuid = EntryUuid(entry);
  const absl::Status taken = ChangeRecords(pool, uuid,
                                           {.guards = {{EntryKey(entry), entry.text}, {uuid, ""}},
                                            .values = {{uuid, pool::EncodeRecord(next)}},
                                            .removals = {EntryKey(entry)}},
                                           "take out of the trash");
  if (!absl::IsAborted(taken)) return taken;
  ASSIGN_OR_RETURN(const TrashedRecord present, Read(pool, EntryKey(entry)));
  if (present.text != entry.text) return taken;
  return AlreadyExists("there is something in the place of volume {}", uuid);
}

absl::Status TrashTable::Replace(const CephPool& pool, TrashedRecord& entry,
                                 const pool::VolumeRecord& next) {
  const std::string text = pool::EncodeRecord(next);
  RETURN_IF_ERROR(ChangeRecords(pool, EntryUuid(entry),
                                {.guards = {{EntryKey(entry), entry.text}},
                                 .values = {{EntryKey(entry), text}},
                                 .removals = {}},
                                "note in the trash"));
  entry = {.record = next, .text = text};
  return absl::OkStatus();
}

absl::Status TrashTable::Remove(const CephPool& pool, const TrashedRecord& entry) {
  const absl::Status removed = ChangeRecords(
      pool, EntryUuid(entry),
      {.guards = {{EntryKey(entry), entry.text}}, .values = {}, .removals = {EntryKey(entry)}},
      "forget from the trash");
  if (!absl::IsAborted(removed)) return removed;
  return absl::IsNotFound(Read(pool, EntryKey(entry)).status()) ? absl::OkStatus() : removed;
}

}  // namespace holdfast::rbd
