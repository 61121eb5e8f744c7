// SPDX-License-Identifier: Apache-2.0
#include "state/stage_store.h"

#include <cctype>

#include "core/checked_json.h"
#include "core/disk_names.h"
#include "core/kubernetes_name.h"
#include "os/file.h"

namespace holdfast::state {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;

// Volume ids that Holdfast made are safe names; any other id was never staged.
constexpr std::string_view kSuffix = kStageSuffix;
std::string FileName(const VolumeId& id) { return fmt::format("{}{}", id.ToString(), kSuffix); }

absl::StatusOr<std::string> ReadBootId() {
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectory("/proc/sys/kernel/random"));
  ASSIGN_OR_RETURN(std::string text, os::ReadFileAt(directory.get(), "boot_id"));
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

json ToJson(const StageRecord& record) {
  json publications = json::object();
  for (const auto& [target, publication] : record.publications) {
    json& entry = publications[target];
    entry = {{"access_mode", ToString(publication.access_mode)},
             {"read_only", publication.read_only},
             {"mount_flags", publication.mount_flags}};
    if (!publication.pod.empty()) entry["pod"] = publication.pod;
  }
  return {{"volume_id", record.volume_id},
          {"staging_path", record.staging_path},
          {"access_mode", ToString(record.access_mode)},
          {"mount_flags", record.mount_flags},
          {"growing", record.growing},
          {"freezing", record.freezing},
          {"publications", std::move(publications)}};
}

absl::StatusOr<StageRecord> FromJson(const json& object) {
  StageRecord record;
  object.at("volume_id").get_to(record.volume_id);
  object.at("staging_path").get_to(record.staging_path);
  object.at("mount_flags").get_to(record.mount_flags);
  object.at("growing").get_to(record.growing);
  // Absent in a record of an earlier build, which marked the growth as a whole.
  record.freezing = object.value("freezing", record.growing);
  ASSIGN_OR_RETURN(record.access_mode,
                   ParseAccessMode(object.at("access_mode").get<std::string>()));
  for (const auto& [target, entry] : object.at("publications").items()) {
    Publication publication;
    entry.at("read_only").get_to(publication.read_only);
    entry.at("mount_flags").get_to(publication.mount_flags);
    publication.pod = entry.value("pod", "");
    if (!IsNamespacedName(publication.pod)) publication.pod.clear();
    ASSIGN_OR_RETURN(publication.access_mode,
                     ParseAccessMode(entry.at("access_mode").get<std::string>()));
    record.publications.emplace(target, std::move(publication));
  }
  return record;
}

}  // namespace

absl::StatusOr<StageStore> StageStore::Open(os::UniqueFd directory) {
  ASSIGN_OR_RETURN(std::string boot_id, ReadBootId());
  return StageStore(std::move(directory), std::move(boot_id));
}

absl::StatusOr<StageStore::Loaded> StageStore::Load(const std::string& volume_id) const {
  const std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  if (!id) return Loaded{};
  const auto text = os::ReadFileAt(directory_.get(), FileName(*id));
  if (absl::IsNotFound(text.status())) return Loaded{};
  RETURN_IF_ERROR(text.status());
  const auto object = DecodeChecked(*text, kSchemaVersion, "stage record");
  if (!object.ok()) return Loaded{.state = StageState::kDamaged};
  try {
    if (object->at("boot_id") != boot_id_) return Loaded{.state = StageState::kOtherBoot};
    absl::StatusOr<StageRecord> record = FromJson(*object);
    if (record.ok() && record->volume_id == volume_id) {
      return Loaded{.state = StageState::kCurrent, .record = *std::move(record)};
    }
  } catch (const json::exception&) {
  }
  return Loaded{.state = StageState::kDamaged};
}

absl::StatusOr<StageRecord> StageStore::Find(const std::string& volume_id) const {
  absl::StatusOr<Loaded> loaded = Load(volume_id);
  if (loaded.ok() && loaded->state == StageState::kCurrent) return std::move(loaded->record);
  return NotFound("volume '{}' is not staged", volume_id);
}

absl::StatusOr<StageState> StageStore::StateOf(const std::string& volume_id) const {
  ASSIGN_OR_RETURN(const Loaded loaded, Load(volume_id));
  return loaded.state;
}

absl::StatusOr<std::vector<std::string>> StageStore::VolumeIds() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(directory_.get()));
  std::vector<std::string> ids;
  for (const std::string& name : names) {
    if (!name.ends_with(kSuffix)) continue;
    std::string id = name.substr(0, name.size() - kSuffix.size());
    if (VolumeId::Parse(id)) ids.push_back(std::move(id));
  }
  return ids;
}

absl::Status StageStore::Write(const StageRecord& record) const {
  const std::optional<VolumeId> id = VolumeId::Parse(record.volume_id);
  if (!id) return Internal("'{}' is not a volume id", record.volume_id);
  json object = ToJson(record);
  object["boot_id"] = boot_id_;
  // A full state directory says nothing of the pool's room.
  return WithCode(os::ReplaceFile(directory_.get(), FileName(*id),
                                  EncodeChecked(std::move(object), kSchemaVersion)),
                  absl::StatusCode::kInternal);
}

absl::Status StageStore::Remove(const std::string& volume_id) const {
  const std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  if (!id) return absl::OkStatus();
  return os::RemoveFileAt(directory_.get(), FileName(*id));
}

}  // namespace holdfast::state
