// SPDX-License-Identifier: Apache-2.0
#include "pool/stage_store.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "os/file.h"
#include "pool/checked_json.h"

namespace holdfast::pool {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;
constexpr int kPrivate = 0700;

// Volume ids that Holdfast made are safe names; any other id was never staged.
constexpr std::string_view kSuffix = ".json";
std::string FileName(const VolumeId& id) { return fmt::format("{}{}", id.ToString(), kSuffix); }
constexpr std::array<const char*, 2> kUndoSuffixes = {".undo", ".undo.used"};  // fs/ext_undo.cc
std::string UndoName(const VolumeId& id) { return id.ToString() + kUndoSuffixes[0]; }

// The volume whose file this is; empty if it is none of ours.
std::string VolumeOf(const std::string& name) {
  for (const std::string_view suffix :
       {kSuffix, std::string_view(kUndoSuffixes[0]), std::string_view(kUndoSuffixes[1])}) {
    if (!name.ends_with(suffix)) continue;
    std::string id = name.substr(0, name.size() - suffix.size());
    if (VolumeId::Parse(id)) return id;
  }
  return "";
}

absl::StatusOr<std::string> ReadBootId() {
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectory("/proc/sys/kernel/random"));
  ASSIGN_OR_RETURN(std::string text, os::ReadFileAt(directory.get(), "boot_id"));
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

json ToJson(const StageRecord& record) {
  json publications = json::object();
  for (const auto& [target, publication] : record.publications) {
    publications[target] = {{"access_mode", ToString(publication.access_mode)},
                            {"read_only", publication.read_only},
                            {"mount_flags", publication.mount_flags}};
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
    ASSIGN_OR_RETURN(publication.access_mode,
                     ParseAccessMode(entry.at("access_mode").get<std::string>()));
    record.publications.emplace(target, std::move(publication));
  }
  return record;
}

}  // namespace

absl::StatusOr<StageStore> StageStore::Open(int state_directory_fd) {
  RETURN_IF_ERROR(os::MakeDirectoryAt(state_directory_fd, "stages", kPrivate));
  ASSIGN_OR_RETURN(os::UniqueFd directory, os::OpenDirectoryAt(state_directory_fd, "stages"));
  ASSIGN_OR_RETURN(std::string boot_id, ReadBootId());
  std::error_code error;
  std::string path =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", directory.get()), error);
  if (error) return OsError(error.value(), "cannot tell the path of the directory 'stages'");
  return StageStore(std::move(directory), std::move(path), std::move(boot_id));
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
    std::string id = VolumeOf(name);
    if (!id.empty()) ids.push_back(std::move(id));
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

absl::Status StageStore::RemoveAll(const std::string& volume_id) const {
  RETURN_IF_ERROR(Remove(volume_id));
  const std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  return id ? RemoveUndo(*id) : absl::OkStatus();
}

absl::Status StageStore::RemoveUndo(const VolumeId& id) const {
  for (const char* const suffix : kUndoSuffixes) {
    RETURN_IF_ERROR(os::RemoveFileAt(directory_.get(), id.ToString() + suffix));
  }
  return absl::OkStatus();
}

absl::Status StageStore::ForgetUndo(const VolumeId& id) const {
  if (!HasUndo(id)) return absl::OkStatus();
  RETURN_IF_ERROR(RemoveUndo(id));
  return os::Sync(directory_.get(), path_);
}

bool StageStore::HasUndo(const VolumeId& id) const {
  return std::ranges::any_of(kUndoSuffixes, [&](const char* suffix) {
    return os::ExistsAt(directory_.get(), id.ToString() + suffix);
  });
}

std::string StageStore::UndoPath(const VolumeId& id) const {
  return fmt::format("{}/{}", path_, UndoName(id));
}

}  // namespace holdfast::pool
