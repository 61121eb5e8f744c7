// SPDX-License-Identifier: Apache-2.0
#include "simulator/memory_volumes.h"

#include <algorithm>

namespace holdfast::simulator {
namespace {

bool HasEffect(Fault fault) {
  return fault == Fault::kNone || fault == Fault::kErrorDone || fault == Fault::kKillDone ||
         fault == Fault::kPowerDone;
}

bool Fails(Fault fault) { return fault == Fault::kError || fault == Fault::kErrorDone; }

absl::Status Failure(const char* name) { return Internal("{} failed, as injected", name); }

void SyncFiles(Directory& directory) {
  directory.durable = directory.now;
  if (directory.durable.image) directory.durable.image = directory.synced_image;
}

}  // namespace

void Machine::LosePower() {
  volumes = volumes_durable;
  trash = trash_durable;
  devices.clear();
  for (Entries* const entries : {&volumes, &trash}) {
    for (const auto& [uuid, directory] : *entries) {
      directory->now = directory->durable;
      directory->synced_image = directory->durable.image;
    }
  }
}

void Directory::SyncImage() {
  synced_image = now.image;
  if (durable.image) durable.image = synced_image;
}

Bytes Machine::Available() const {
  Bytes used = 0;
  for (const Entries* const entries : {&volumes, &trash}) {
    for (const auto& [uuid, directory] : *entries) {
      if (directory->now.image) used += directory->now.image->allocated;
    }
  }
  return std::max<Bytes>(0, total - used);
}

absl::StatusOr<pool::VolumeRecord> MemoryRecords::Read(const std::string& uuid) {
  const Fault fault = faults_.At("read record", uuid);
  faults_.After(fault);
  if (Fails(fault)) return Failure("read record");
  const auto found = machine_.volumes.find(uuid);
  if (found == machine_.volumes.end()) return NotFound("there is no volume {}", uuid);
  const Directory::Files& files = found->second->now;
  if (files.record) return *files.record;
  if (files.image) return Internal("volume {} has an image but no record", uuid);
  pool::VolumeRecord unfinished;
  unfinished.volume.id.uuid = uuid;
  return unfinished;
}

// A failed write may have taken effect for programs, but not durably.
absl::Status MemoryRecords::Write(const char* name, const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At(name, uuid);
  auto& directory = machine_.volumes[uuid];
  if (directory == nullptr) directory = std::make_shared<Directory>();
  if (HasEffect(fault)) {
    directory->now.record = record;
    if (fault == Fault::kNone) SyncFiles(*directory);
  } else {
    directory->now.temporary_record = true;
  }
  faults_.After(fault);
  if (Fails(fault)) return Failure(name);
  directory->now.temporary_record = false;
  Enlist(record);
  return absl::OkStatus();
}

absl::Status MemoryRecords::Insert(const pool::VolumeRecord& record) {
  return Write("insert record", record);
}

absl::Status MemoryRecords::Replace(const pool::VolumeRecord&, const pool::VolumeRecord& next) {
  return Write("replace record", next);
}

absl::Status MemoryRecords::Remove(const pool::VolumeRecord& present) {
  listed_.erase(present.volume.id.uuid);
  return absl::OkStatus();
}

absl::Status MemoryRecords::SyncName() {
  const Fault fault = faults_.At("sync name", "");
  if (HasEffect(fault)) machine_.volumes_durable = machine_.volumes;
  faults_.After(fault);
  return Fails(fault) ? Failure("sync name") : absl::OkStatus();
}

absl::Status MemoryRecords::SyncAll(const std::string& uuid) {
  const Fault fault = faults_.At("sync all", uuid);
  const auto found = machine_.volumes.find(uuid);
  if (HasEffect(fault) && found != machine_.volumes.end()) {
    SyncFiles(*found->second);
    machine_.volumes_durable = machine_.volumes;
  }
  faults_.After(fault);
  return Fails(fault) ? Failure("sync all") : absl::OkStatus();
}

void MemoryRecords::Enlist(const pool::VolumeRecord& record) {
  if (pool::IsUsable(record.volume.state)) {
    listed_.insert(record.volume.id.uuid);
  } else {
    listed_.erase(record.volume.id.uuid);
  }
}

std::vector<std::string> MemoryRecords::CopiesUnderWay(const ContentSource& source) {
  std::vector<std::string> uuids;
  for (const auto& [uuid, directory] : machine_.volumes) {
    if (!listed_.contains(uuid) || !directory->now.record) continue;
    const Volume& copy = directory->now.record->volume;
    if (copy.state == VolumeState::kCopying && copy.source == source) uuids.push_back(uuid);
  }
  return uuids;
}

bool MemoryRecords::HasRemains(const std::string& uuid) {
  const auto found = machine_.volumes.find(uuid);
  return found != machine_.volumes.end() && found->second->now.temporary_record;
}

absl::Status MemoryRecords::RemoveRemains(const std::string& uuid) {
  const auto found = machine_.volumes.find(uuid);
  if (found != machine_.volumes.end()) found->second->now.temporary_record = false;
  return absl::OkStatus();
}

Directory* MemoryBackend::Find(const std::string& uuid) const {
  const auto found = machine_.volumes.find(uuid);
  return found == machine_.volumes.end() ? nullptr : found->second.get();
}

template <typename Change>
absl::Status MemoryBackend::Alter(const char* name, const pool::VolumeRecord& record,
                                  Change change) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At(name, uuid);
  Directory* const directory = Find(uuid);
  const bool exists = directory != nullptr && directory->now.image.has_value();
  absl::Status done =
      exists ? absl::OkStatus() : FailedPrecondition("volume {}: the image is missing", uuid);
  if (exists && HasEffect(fault)) {
    done = change(*directory->now.image);
    if (done.ok() && fault == Fault::kNone) {
      directory->SyncImage();
    }
  }
  faults_.After(fault);
  return Fails(fault) ? Failure(name) : done;
}

template <typename Question>
absl::Status MemoryBackend::Look(const char* name, const pool::VolumeRecord& record,
                                 Question question) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At(name, uuid);
  faults_.After(fault);
  if (Fails(fault)) return Failure(name);
  const Directory* const directory = Find(uuid);
  if (directory == nullptr || !directory->now.image) {
    return FailedPrecondition("volume {}: the image is missing", uuid);
  }
  question(*directory->now.image);
  return absl::OkStatus();
}

absl::StatusOr<bool> MemoryBackend::Exist(const pool::VolumeRecord& record) {
  const Fault fault = faults_.At("exist", record.volume.id.uuid);
  faults_.After(fault);
  if (Fails(fault)) return Failure("exist");
  const Directory* const directory = Find(record.volume.id.uuid);
  return directory != nullptr && directory->now.image.has_value();
}

absl::StatusOr<Bytes> MemoryBackend::Size(const pool::VolumeRecord& record) {
  Bytes size = 0;
  RETURN_IF_ERROR(Look("size", record, [&](const Image& image) { size = image.size; }));
  return size;
}

absl::StatusOr<bool> MemoryBackend::HoldData(const pool::VolumeRecord& record, Bytes begin) {
  bool data = false;
  RETURN_IF_ERROR(
      Look("look for data", record, [&](const Image& image) { data = image.content.end > begin; }));
  return data;
}

absl::StatusOr<std::string> MemoryBackend::ReadMark(const pool::VolumeRecord& record) {
  std::string mark;
  RETURN_IF_ERROR(Look("read mark", record, [&](const Image& image) { mark = image.mark; }));
  return mark;
}

absl::StatusOr<bool> MemoryBackend::IsMarkedCopied(const pool::VolumeRecord& record) {
  bool copied = false;
  RETURN_IF_ERROR(
      Look("read copy mark", record, [&](const Image& image) { copied = image.copied; }));
  return copied;
}

absl::StatusOr<std::string> MemoryBackend::Make(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At("make", uuid);
  Directory* const directory = Find(uuid);
  if (directory == nullptr) return NotFound("volume {} has no directory", uuid);
  if (directory->now.image) return AlreadyExists("there is an image already");
  const Bytes size = record.volume.capacity_bytes;
  const bool thick = record.volume.provisioning == Provisioning::kThick;
  if (thick && machine_.Available() < size) return ResourceExhausted("no room, as simulated");
  if (HasEffect(fault)) {
    directory->now.image =
        Image{.size = size, .allocated = thick ? size : 0, .mark = "", .content = {}};
    directory->synced_image = fault == Fault::kNone ? directory->now.image : Image{};
  } else {
    directory->now.image = Image{};  // made, and not yet as large as it should be
    directory->synced_image = Image{};
  }
  faults_.After(fault);
  if (Fails(fault)) return Failure("make");
  return std::string();
}

// All blocks are its own at once.
absl::StatusOr<std::string> MemoryBackend::Copy(const pool::VolumeRecord& source,
                                                const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At("copy", uuid);
  const Directory* const from = Find(source.volume.id.uuid);
  Directory* const directory = Find(uuid);
  if (directory == nullptr) return NotFound("volume {} has no directory", uuid);
  if (directory->now.image) return AlreadyExists("there is an image already");
  if (from == nullptr || !from->now.image) {
    return FailedPrecondition("volume {}: the image is missing", source.volume.id.uuid);
  }
  const Bytes size = record.volume.capacity_bytes;
  const bool thick = record.volume.provisioning == Provisioning::kThick;
  if (thick && machine_.Available() < size) return ResourceExhausted("no room, as simulated");
  Image copy{.size = size, .allocated = thick ? size : 0, .mark = "", .content = {}};
  if (HasEffect(fault)) {
    copy.content = from->now.image->content;
    directory->now.image = copy;
    directory->synced_image = fault == Fault::kNone ? directory->now.image : Image{};
  } else {
    directory->now.image = Image{};
    directory->synced_image = Image{};
  }
  faults_.After(fault);
  if (Fails(fault)) return Failure("copy");
  return std::string();
}

absl::Status MemoryBackend::MarkCopied(const pool::VolumeRecord& record) {
  return Alter("mark copied", record, [](Image& image) {
    image.copied = true;
    return absl::OkStatus();
  });
}

absl::StatusOr<bool> MemoryBackend::SharesStorage(const pool::VolumeRecord& record) {
  bool shares = false;
  RETURN_IF_ERROR(Look("look for shared storage", record,
                       [&](const Image& image) { shares = image.copied && !image.unshared; }));
  return shares;
}

absl::StatusOr<bool> MemoryBackend::Unshare(const pool::VolumeRecord& record) {
  RETURN_IF_ERROR(Alter("unshare", record, [](Image& image) {
    image.unshared = true;
    return absl::OkStatus();
  }));
  return true;
}

absl::Status MemoryBackend::RemoveUnfinished(const pool::VolumeRecord& record) {
  const Fault fault = faults_.At("remove unfinished", record.volume.id.uuid);
  Directory* const directory = Find(record.volume.id.uuid);
  if (directory != nullptr && HasEffect(fault)) directory->now.image.reset();
  faults_.After(fault);
  return Fails(fault) ? Failure("remove unfinished") : absl::OkStatus();
}

absl::Status MemoryBackend::Extend(const pool::VolumeRecord& record, Bytes size) {
  return Alter("extend", record, [&](Image& image) -> absl::Status {
    const bool thick = record.volume.provisioning == Provisioning::kThick;
    if (thick && machine_.Available() < size - image.allocated) {
      return ResourceExhausted("no room, as simulated");
    }
    image.size = std::max(image.size, size);
    if (thick) image.allocated = std::max(image.allocated, size);
    return absl::OkStatus();
  });
}

absl::Status MemoryBackend::CutOff(const pool::VolumeRecord& record, Bytes size) {
  return Alter("cut off", record, [&](Image& image) {
    image.size = size;
    image.allocated = std::min(image.allocated, size);
    if (image.content.end > size) image.content = {};  // content that counts as lost data
    return absl::OkStatus();
  });
}

absl::Status MemoryBackend::Sync(const pool::VolumeRecord& record) {
  return Alter("sync", record, [](Image&) { return absl::OkStatus(); });
}

absl::Status MemoryBackend::Zero(const pool::VolumeRecord& record) {
  RETURN_IF_ERROR(Unmap(record));
  return Alter("zero", record, [](Image& image) {
    image.content = {};
    return absl::OkStatus();
  });
}

absl::Status MemoryBackend::Mark(const pool::VolumeRecord& record) {
  return Alter("mark", record, [&](Image& image) {
    image.mark = record.volume.filesystem_uuid;
    return absl::OkStatus();
  });
}

absl::StatusOr<Bytes> MemoryBackend::Allocated(const pool::VolumeRecord& record) {
  Bytes allocated = 0;
  RETURN_IF_ERROR(
      Look("allocated", record, [&](const Image& image) { allocated = image.allocated; }));
  return allocated;
}

absl::StatusOr<Bytes> MemoryBackend::Occupied(const pool::VolumeRecord& record) {
  return Allocated(record);
}

absl::Status MemoryBackend::Discard(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At("discard", uuid);
  const auto found = machine_.volumes.find(uuid);
  absl::Status done = absl::OkStatus();
  if (HasEffect(fault)) {
    if (found != machine_.volumes.end()) {
      if (machine_.trash.contains(uuid)) {
        done = Internal("the trash holds volume {} already", uuid);
      } else {
        machine_.trash[uuid] = found->second;
        machine_.volumes.erase(found);
      }
    }
    if (fault == Fault::kNone) {
      machine_.volumes_durable = machine_.volumes;
      machine_.trash_durable = machine_.trash;
    }
  }
  faults_.After(fault);
  return Fails(fault) ? Failure("discard") : done;
}

// Not durable: the contents of the trash may reappear after a power cut.
absl::Status MemoryBackend::Purge(const std::string& uuid) {
  const Fault fault = faults_.At("purge", uuid);
  const auto found = machine_.trash.find(uuid);
  if (found != machine_.trash.end() && HasEffect(fault)) {
    if (fault == Fault::kNone) {
      machine_.trash.erase(found);
    } else {
      found->second->now.image.reset();  // a part of it
    }
  }
  faults_.After(fault);
  return Fails(fault) ? Failure("purge") : absl::OkStatus();
}

bool MemoryBackend::HasDiscarded(const std::string& uuid) { return machine_.trash.contains(uuid); }

absl::StatusOr<os::BlockDevice> MemoryBackend::Map(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At("map", uuid);
  const auto found = machine_.volumes.find(uuid);
  if (found == machine_.volumes.end() || !found->second->now.image) {
    return FailedPrecondition("volume {}: the image is missing", uuid);
  }
  os::BlockDevice block;
  if (HasEffect(fault)) {
    Device& device = machine_.devices[uuid];
    if (device.directory != found->second) device = {.directory = found->second};
    device.size = found->second->now.image->size;
    block.size = device.size;
  }
  faults_.After(fault);
  if (Fails(fault)) return Failure("map");
  return block;
}

absl::StatusOr<std::optional<os::BlockDevice>> MemoryBackend::FindDevice(
    const pool::VolumeRecord& record) {
  const Fault fault = faults_.At("find device", record.volume.id.uuid);
  faults_.After(fault);
  if (Fails(fault)) return Failure("find device");
  const auto found = machine_.devices.find(record.volume.id.uuid);
  if (found == machine_.devices.end()) return std::nullopt;
  os::BlockDevice block;
  block.size = found->second.size;
  return block;
}

absl::Status MemoryBackend::RefreshDevice(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At("refresh device", uuid);
  const auto found = machine_.devices.find(uuid);
  if (HasEffect(fault) && found != machine_.devices.end() && found->second.directory->now.image) {
    found->second.size = found->second.directory->now.image->size;
  }
  faults_.After(fault);
  return Fails(fault) ? Failure("refresh device") : absl::OkStatus();
}

absl::Status MemoryBackend::RequireUnused(const pool::VolumeRecord& record) {
  const Fault fault = faults_.At("require unused", record.volume.id.uuid);
  faults_.After(fault);
  if (Fails(fault)) return Failure("require unused");
  const auto found = machine_.devices.find(record.volume.id.uuid);
  const bool open = found != machine_.devices.end() && found->second.open;
  return open ? FailedPrecondition("the device is in use") : absl::OkStatus();
}

absl::Status MemoryBackend::Unmap(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At("unmap", uuid);
  const auto found = machine_.devices.find(uuid);
  const bool open = found != machine_.devices.end() && found->second.open;
  if (!open && HasEffect(fault)) machine_.devices.erase(uuid);
  faults_.After(fault);
  if (Fails(fault)) return Failure("unmap");
  return open ? FailedPrecondition("the device is in use") : absl::OkStatus();
}

}  // namespace holdfast::simulator
