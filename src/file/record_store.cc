// SPDX-License-Identifier: Apache-2.0
#include "file/record_store.h"

#include <algorithm>
#include <iterator>

#include "core/disk_names.h"
#include "file/image_file.h"
#include "os/file.h"

namespace holdfast::file {
namespace {

constexpr int kVolumeMode = 0700;

// A directory without a record. The record is durable before the image is made, so an image without
// a record is damage, never a creation that was cut short.
absl::StatusOr<pool::VolumeRecord> UnfinishedCreation(int directory_fd, const std::string& uuid) {
  const auto image = OpenImage(directory_fd);
  if (!absl::IsNotFound(image.status())) {
    return Internal("volume {} has an image but no record; restore its record from a backup", uuid);
  }
  pool::VolumeRecord unfinished;
  unfinished.volume.id.uuid = uuid;
  return unfinished;
}

}  // namespace

absl::StatusOr<pool::VolumeRecord> RecordStore::Read(int volumes_fd, const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(volumes_fd, uuid);
  if (absl::IsNotFound(directory.status())) return NotFound("there is no volume {}", uuid);
  RETURN_IF_ERROR(directory.status());
  const auto text = os::ReadFileAt(directory->get(), kRecordName);
  if (absl::IsNotFound(text.status())) return UnfinishedCreation(directory->get(), uuid);
  RETURN_IF_ERROR(text.status());
  absl::StatusOr<pool::VolumeRecord> record = pool::DecodeRecord(*text);
  if (!record.ok()) return Annotate(record.status(), fmt::format("volume {}", uuid));
  if (record->volume.id.uuid != uuid) {
    return Internal("volume {}: its record belongs to volume {}", uuid, record->volume.id.uuid);
  }
  return record;
}

absl::Status RecordStore::Write(int volumes_fd, const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  auto directory = os::OpenDirectoryAt(volumes_fd, uuid);
  if (absl::IsNotFound(directory.status())) {
    RETURN_IF_ERROR(os::MakeDirectoryAt(volumes_fd, uuid, kVolumeMode));
    directory = os::OpenDirectoryAt(volumes_fd, uuid);
  }
  RETURN_IF_ERROR(directory.status());
  const absl::Status written =
      os::WriteFileDurably(directory->get(), kRecordName, pool::EncodeRecord(record));
  if (written.ok()) {
    Remember(record.volume);
    return written;
  }
  // The file may be the new one all the same, only perhaps not durable.
  const auto there = Read(volumes_fd, uuid);
  if (there.ok()) Remember(there->volume);
  return written;
}

void RecordStore::Forget(const std::string& uuid) {
  const MutexLock lock(mutex_);
  Erase(volumes_, uuid);
  Erase(snapshots_, uuid);
  EraseUndecided(uuid);
}

bool RecordStore::Lists(const std::string& uuid) const {
  const MutexLock lock(mutex_);
  return volumes_.contains(uuid) || snapshots_.contains(uuid);
}

absl::StatusOr<std::vector<std::string>> RecordStore::Uuids(int directory_fd) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, os::ListDirectory(directory_fd));
  std::erase_if(names, [](const std::string& name) { return !IsUuid(name); });
  return names;
}

std::vector<Volume> RecordStore::List(VolumeRole role, const std::string& after_uuid,
                                      std::size_t limit) const {
  const MutexLock lock(mutex_);
  const auto& index = role == VolumeRole::kVolume ? volumes_ : snapshots_;
  std::vector<Volume> volumes;
  for (auto entry = index.upper_bound(after_uuid); entry != index.end(); ++entry) {
    if (limit != 0 && volumes.size() == limit) break;
    if (role == VolumeRole::kVolume && entry->state == VolumeState::kCopying) continue;
    volumes.push_back(*entry);
  }
  return volumes;
}

std::size_t RecordStore::Count(VolumeRole role) const {
  const MutexLock lock(mutex_);
  return role == VolumeRole::kVolume ? volumes_.size() : snapshots_.size();
}

void RecordStore::Remember(const Volume& volume) {
  const MutexLock lock(mutex_);
  auto& index = volume.role == VolumeRole::kVolume ? volumes_ : snapshots_;
  Erase(index, volume.id.uuid);
  EraseUndecided(volume.id.uuid);
  if (volume.state == VolumeState::kCut) undecided_.insert(volume);
  if (!pool::IsUsable(volume.state)) return;
  index.insert(volume);
  if (volume.source) ++copies_;
  if (volume.state == VolumeState::kCopying) copying_.insert(volume.id.uuid);
}

std::vector<std::string> RecordStore::CopiesUnderWay(const ContentSource& source) const {
  const MutexLock lock(mutex_);
  std::vector<std::string> uuids;
  for (const std::string& uuid : copying_) {
    const auto volume = volumes_.find(uuid);
    const Volume& copy = volume == volumes_.end() ? *snapshots_.find(uuid) : *volume;
    if (copy.source->role == source.role && copy.source->id.uuid == source.id.uuid) {
      uuids.push_back(uuid);
    }
  }
  return uuids;
}

std::vector<Volume> RecordStore::Undecided() const {
  const MutexLock lock(mutex_);
  return {undecided_.begin(), undecided_.end()};
}

std::vector<std::string> RecordStore::VolumesUnderWay() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> uuids;
  std::ranges::copy_if(copying_, std::back_inserter(uuids),
                       [this](const std::string& uuid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                         return volumes_.contains(uuid);
                       });
  return uuids;
}

std::set<std::string> RecordStore::VolumesOfAnyUse() const {
  const MutexLock lock(mutex_);
  std::set<std::string> uuids;
  for (const Volume& volume : volumes_) uuids.insert(volume.id.uuid);
  for (const auto* const index : {&snapshots_, &undecided_}) {
    for (const Volume& snapshot : *index) {
      if (snapshot.source) uuids.insert(snapshot.source->id.uuid);
    }
  }
  return uuids;
}

bool RecordStore::HasCopies() const {
  const MutexLock lock(mutex_);
  return copies_ != 0;
}

void RecordStore::Erase(Index& index, const std::string& uuid) {
  const auto known = index.find(uuid);
  if (known == index.end()) return;
  if (known->source) --copies_;
  copying_.erase(uuid);
  index.erase(known);
}

void RecordStore::EraseUndecided(const std::string& uuid) {
  const auto known = undecided_.find(uuid);
  if (known != undecided_.end()) undecided_.erase(known);
}

}  // namespace holdfast::file
