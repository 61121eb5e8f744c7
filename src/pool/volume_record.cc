// SPDX-License-Identifier: Apache-2.0
#include "pool/volume_record.h"

#include <algorithm>
#include <limits>

#include "core/checked_json.h"
#include "core/trash_id.h"

namespace holdfast::pool {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr std::int64_t kMostClones = 15;  // that Linux maps
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 40;

absl::Status CheckSource(const Volume& volume) {
  const bool snapshot = volume.role == VolumeRole::kSnapshot;
  const bool changes = volume.state == VolumeState::kFormatting ||
                       volume.state == VolumeState::kFormatted ||
                       volume.state == VolumeState::kInherited;
  if (snapshot && (!volume.source || changes)) {
    return Internal("volume record is damaged: a snapshot without a source, or one that changes");
  }
  if (volume.held() && !snapshot)
    return Internal("volume record is damaged: a volume that is held");
  const bool inherits = !volume.inherited_uuids.empty();
  // Without a source: what was written to a raw block volume (VolumeLifecycle::TakeOver).
  const bool may_inherit = volume.source || volume.access_type == AccessType::kMount;
  if ((inherits && !may_inherit) || (volume.state == VolumeState::kInherited && !inherits) ||
      !std::ranges::all_of(volume.inherited_uuids, IsUuid)) {
    return Internal("volume record is damaged: impossible inherited filesystem");
  }
  return absl::OkStatus();
}

absl::Status CheckCopy(const VolumeRecord& record) {
  const VolumeState state = record.volume.state;
  const bool has = record.copy.has_value();
  const bool may_have = has && record.volume.source && record.grow_to_bytes == 0 &&
                        (state == VolumeState::kCopying || state == VolumeState::kAllocating ||
                         state == VolumeState::kDeleting);
  const bool sound = !has || (0 <= record.copy->data_bytes && 0 <= record.copy->copied_to &&
                              record.copy->copied_to <= record.volume.capacity_bytes);
  if (sound && has == may_have && (has || state != VolumeState::kCopying)) return absl::OkStatus();
  return Internal("volume record is damaged: impossible progress of a copy");
}

absl::Status CheckGroup(const Volume& volume) {
  const bool snapshot = volume.role == VolumeRole::kSnapshot;
  if (!volume.group && volume.state != VolumeState::kCut) return absl::OkStatus();
  const bool sound = volume.group && snapshot && volume.state != VolumeState::kCopying &&
                     IsGroupId(volume.group->id) && !volume.group->members.empty() &&
                     std::ranges::is_sorted(volume.group->members) &&
                     std::ranges::all_of(volume.group->members, [](const std::string& member) {
                       return ParseSnapshotId(member).has_value();
                     });
  if (sound) return absl::OkStatus();
  return Internal("volume record is damaged: impossible group snapshot");
}

// Small enough to be added up.
bool IsTime(std::chrono::seconds time) { return 0 <= time.count() && time.count() <= kMostSeconds; }

absl::Status CheckTrashed(const VolumeRecord& record) {
  const VolumeState state = record.volume.state;
  if (!record.trashed && state != VolumeState::kTrashed) return absl::OkStatus();
  const bool sound =
      record.trashed && (state == VolumeState::kTrashed || state == VolumeState::kDeleting) &&
      !record.copy && !record.volume.held() && IsTrashKey(record.trashed->key) &&
      UuidOfTrashKey(record.trashed->key) == record.volume.id.uuid &&
      IsTime(record.trashed->keep) && IsTime(record.trashed->kept) &&
      IsUsable(record.trashed->before) && record.trashed->before != VolumeState::kCopying;
  if (sound) return absl::OkStatus();
  return Internal("volume record is damaged: impossible state in the trash");
}

absl::StatusOr<std::optional<RequestingObjects>> RequestedByIn(const json& object) {
  if (!object.contains("requested_by")) return std::nullopt;
  const json& stored = object.at("requested_by");
  RequestingObjects objects;
  stored.at("namespace").get_to(objects.name_space);
  stored.at("name").get_to(objects.name);
  stored.at("content").get_to(objects.content);
  if (IsSound(objects)) return objects;
  return Internal("volume record is damaged: impossible names of Kubernetes objects");
}

absl::Status CheckConsistency(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  const bool mount = volume.access_type == AccessType::kMount;
  const VolumeState state = record.trashed ? record.trashed->before : volume.state;
  const bool has_uuid = state == VolumeState::kFormatting || state == VolumeState::kFormatted ||
                        state == VolumeState::kInherited;
  if (!IsUuid(volume.id.uuid)) return Internal("volume record is damaged: bad uuid");
  if (volume.capacity_bytes <= 0 || volume.capacity_bytes % kVolumeGranularity != 0) {
    return Internal("volume record is damaged: impossible capacity {}", volume.capacity_bytes);
  }
  if (record.grow_to_bytes != 0 && record.grow_to_bytes <= volume.capacity_bytes) {
    return Internal("volume record is damaged: impossible growth to {}", record.grow_to_bytes);
  }
  if (mount == volume.filesystem.empty() || (has_uuid && !IsUuid(volume.filesystem_uuid))) {
    return Internal("volume record is damaged: filesystem and state contradict each other");
  }
  RETURN_IF_ERROR(CheckCopy(record));
  RETURN_IF_ERROR(CheckGroup(volume));
  RETURN_IF_ERROR(CheckTrashed(record));
  return CheckSource(volume);
}

// The library would take 1e9, and turn what is too large for the type into another number.
absl::StatusOr<std::int64_t> WholeNumber(const json& object, const char* name) {
  const json& value = object.at(name);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost)) {
    return Internal("volume record is damaged: {} is not a whole number, or too large", name);
  }
  return value.get<std::int64_t>();
}

absl::StatusOr<std::uint32_t> SectorSize(const json& object) {
  ASSIGN_OR_RETURN(const std::int64_t size, WholeNumber(object, "sector_size"));
  if (size == 512 || size == 4096) return static_cast<std::uint32_t>(size);
  return Internal("volume record is damaged: impossible sector size {}", size);
}

absl::StatusOr<std::optional<ContentSource>> SourceIn(const json& object) {
  if (!object.contains("source")) return std::nullopt;
  const auto text = object.at("source").get<std::string>();
  if (const auto snapshot = ParseSnapshotId(text))
    return ContentSource{VolumeRole::kSnapshot, *snapshot};
  if (const auto volume = VolumeId::Parse(text)) return ContentSource{VolumeRole::kVolume, *volume};
  return Internal("volume record is damaged: impossible source '{}'", text);
}

absl::StatusOr<std::optional<CopyProgress>> CopyIn(const json& object) {
  if (!object.contains("copy")) return std::nullopt;
  const json& copy = object.at("copy");
  CopyProgress progress;
  ASSIGN_OR_RETURN(progress.data_bytes, WholeNumber(copy, "data_bytes"));
  ASSIGN_OR_RETURN(progress.copied_to, WholeNumber(copy, "copied_to"));
  copy.at("source_version").get_to(progress.source_version);
  if (copy.contains("wanted_at")) {
    copy.at("wanted_at").get_to(progress.wanted_at);
    copy.at("arrival").get_to(progress.arrival);
  }
  return progress;
}

absl::StatusOr<std::optional<Trashed>> TrashedIn(const json& object) {
  if (!object.contains("trashed")) return std::nullopt;
  const json& stored = object.at("trashed");
  Trashed trashed;
  stored.at("key").get_to(trashed.key);
  stored.at("deleted_at").get_to(trashed.deleted_at);
  ASSIGN_OR_RETURN(const std::int64_t keep, WholeNumber(stored, "keep_seconds"));
  ASSIGN_OR_RETURN(const std::int64_t kept, WholeNumber(stored, "kept_seconds"));
  trashed.keep = std::chrono::seconds(keep);
  trashed.kept = std::chrono::seconds(kept);
  ASSIGN_OR_RETURN(trashed.before, ParseVolumeState(stored.at("before").get<std::string>()));
  trashed.deletion = stored.value("deletion", "");
  return trashed;
}

absl::StatusOr<std::optional<std::chrono::seconds>> KeepDeletedIn(const json& object) {
  if (!object.contains("keep_deleted_seconds")) return std::nullopt;
  ASSIGN_OR_RETURN(const std::int64_t seconds, WholeNumber(object, "keep_deleted_seconds"));
  if (IsTime(std::chrono::seconds(seconds))) return std::chrono::seconds(seconds);
  return Internal("volume record is damaged: impossible keep_deleted_seconds");
}

std::optional<SnapshotGroup> GroupIn(const json& object) {
  if (!object.contains("group")) return std::nullopt;
  SnapshotGroup group;
  object.at("group").at("id").get_to(group.id);
  object.at("group").at("members").get_to(group.members);
  return group;
}

absl::StatusOr<VolumeRecord> FromJson(const json& object) {
  VolumeRecord record;
  Volume& volume = record.volume;
  ASSIGN_OR_RETURN(volume.role, ParseVolumeRole(object.value("role", std::string("volume"))));
  ASSIGN_OR_RETURN(volume.source, SourceIn(object));
  volume.group = GroupIn(object);
  ASSIGN_OR_RETURN(volume.requested_by, RequestedByIn(object));
  if (object.contains("inherited_uuids")) {
    object.at("inherited_uuids").get_to(volume.inherited_uuids);
  }
  volume.held_at = object.value("held_at", "");
  object.at("uuid").get_to(volume.id.uuid);
  object.at("name").get_to(volume.name);
  ASSIGN_OR_RETURN(volume.capacity_bytes, WholeNumber(object, "capacity_bytes"));
  ASSIGN_OR_RETURN(record.grow_to_bytes, WholeNumber(object, "grow_to_bytes"));
  ASSIGN_OR_RETURN(record.sector_size, SectorSize(object));
  record.image_name = object.value("image_name", "");
  record.image_id = object.value("image_id", "");
  if (object.contains("clone_depth")) {
    ASSIGN_OR_RETURN(const std::int64_t depth, WholeNumber(object, "clone_depth"));
    if (depth < 1 || depth > kMostClones) {
      return Internal("volume record is damaged: impossible clone depth {}", depth);
    }
    record.clone_depth = static_cast<int>(depth);
  }
  object.at("filesystem").get_to(volume.filesystem);
  object.at("filesystem_uuid").get_to(volume.filesystem_uuid);
  object.at("mkfs_options").get_to(volume.mkfs_options);
  object.at("parameters").get_to(volume.parameters);
  object.at("created_at").get_to(volume.created_at);
  ASSIGN_OR_RETURN(volume.provisioning,
                   ParseProvisioning(object.at("provisioning").get<std::string>()));
  ASSIGN_OR_RETURN(volume.access_type,
                   ParseAccessType(object.at("access_type").get<std::string>()));
  ASSIGN_OR_RETURN(volume.state, ParseVolumeState(object.at("state").get<std::string>()));
  ASSIGN_OR_RETURN(record.copy, CopyIn(object));
  ASSIGN_OR_RETURN(record.trashed, TrashedIn(object));
  ASSIGN_OR_RETURN(volume.keep_deleted, KeepDeletedIn(object));
  RETURN_IF_ERROR(CheckConsistency(record));
  return record;
}

}  // namespace

bool IsUnreturned(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  return volume.state == VolumeState::kCopying && volume.role == VolumeRole::kVolume && record.copy;
}

bool IsUsable(VolumeState state) {
  switch (state) {
    case VolumeState::kAllocating:
    case VolumeState::kCut:
    case VolumeState::kDeleting:
    case VolumeState::kTrashed:
      return false;
    case VolumeState::kReady:
    case VolumeState::kFormatting:
    case VolumeState::kFormatted:
    case VolumeState::kInherited:
    case VolumeState::kCopying:
      return true;
  }
  return false;
}

std::string EncodeRecord(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  json object{
      {"uuid", volume.id.uuid},
      {"name", volume.name},
      {"state", ToString(volume.state)},
      {"capacity_bytes", volume.capacity_bytes},
      {"grow_to_bytes", record.grow_to_bytes},
      {"provisioning", ToString(volume.provisioning)},
      {"access_type", ToString(volume.access_type)},
      {"sector_size", record.sector_size},
      {"filesystem", volume.filesystem},
      {"filesystem_uuid", volume.filesystem_uuid},
      {"mkfs_options", volume.mkfs_options},
      {"parameters", volume.parameters},
      {"created_at", volume.created_at},
  };
  if (volume.role != VolumeRole::kVolume) object["role"] = ToString(volume.role);
  if (volume.held()) object["held_at"] = volume.held_at;
  if (volume.source) object["source"] = volume.source->ToString();
  if (!volume.inherited_uuids.empty()) object["inherited_uuids"] = volume.inherited_uuids;
  if (volume.group) {
    object["group"] = {{"id", volume.group->id}, {"members", volume.group->members}};
  }
  if (volume.requested_by) {
    object["requested_by"] = {{"namespace", volume.requested_by->name_space},
                              {"name", volume.requested_by->name},
                              {"content", volume.requested_by->content}};
  }
  if (record.copy) {
    object["copy"] = {{"data_bytes", record.copy->data_bytes},
                      {"copied_to", record.copy->copied_to},
                      {"source_version", record.copy->source_version}};
    if (record.copy->from_elsewhere()) {
      object["copy"]["wanted_at"] = record.copy->wanted_at;
      object["copy"]["arrival"] = record.copy->arrival;
    }
  }
  if (volume.keep_deleted) object["keep_deleted_seconds"] = volume.keep_deleted->count();
  if (record.trashed) {
    object["trashed"] = {{"key", record.trashed->key},
                         {"deleted_at", record.trashed->deleted_at},
                         {"keep_seconds", record.trashed->keep.count()},
                         {"kept_seconds", record.trashed->kept.count()},
                         {"before", ToString(record.trashed->before)}};
    if (!record.trashed->deletion.empty()) {
      object["trashed"]["deletion"] = record.trashed->deletion;
    }
  }
  if (!record.image_name.empty()) object["image_name"] = record.image_name;
  if (!record.image_id.empty()) object["image_id"] = record.image_id;
  if (record.clone_depth != 0) object["clone_depth"] = record.clone_depth;
  return EncodeChecked(std::move(object), kSchemaVersion);
}

absl::StatusOr<VolumeRecord> DecodeRecord(std::string_view text) {
  ASSIGN_OR_RETURN(const json object, DecodeChecked(text, kSchemaVersion, "volume record"));
  try {
    absl::StatusOr<VolumeRecord> record = FromJson(object);
    if (record.ok()) return record;
    return WithCode(record.status(), absl::StatusCode::kInternal);
  } catch (const json::exception& error) {
    return Internal("volume record is damaged: {}", error.what());
  }
}

}  // namespace holdfast::pool
