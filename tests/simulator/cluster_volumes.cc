// SPDX-License-Identifier: Apache-2.0
#include "simulator/cluster_volumes.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::simulator {
namespace {

bool HasEffect(Fault fault) {
  return fault == Fault::kNone || fault == Fault::kErrorDone || fault == Fault::kKillDone;
}

bool Fails(Fault fault) { return fault == Fault::kError || fault == Fault::kErrorDone; }

absl::Status NoAnswer(const char* name) { return Unavailable("{}: no answer, as injected", name); }

absl::Status Changed() { return Aborted("another process was faster, as simulated"); }

// The change, with the fault of its primitive.
template <typename Change>
absl::Status Carry(Faults& faults, const char* name, const std::string& uuid, Change change) {
  const Fault fault = faults.At(name, uuid);
  absl::Status done = absl::OkStatus();
  if (HasEffect(fault)) done = change();
  faults.After(fault);
  return Fails(fault) ? NoAnswer(name) : done;
}

}  // namespace

absl::StatusOr<pool::VolumeRecord> ClusterRecords::Read(const std::string& uuid) {
  entry_.reset();
  std::optional<Cluster::Entry> found;
  RETURN_IF_ERROR(Carry(faults_, "read record", uuid, [&]() -> absl::Status {
    const auto stored = cluster_.records.find(uuid);
    if (stored == cluster_.records.end()) return NotFound("there is no volume {}", uuid);
    found = stored->second;
    return absl::OkStatus();
  }));
  entry_ = std::move(found);
  return pool::DecodeRecord(entry_->record);
}

absl::Status ClusterRecords::Insert(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  entry_.reset();
  const Cluster::Entry entry{.record = pool::EncodeRecord(record)};
  RETURN_IF_ERROR(Carry(faults_, "insert record", uuid, [&]() -> absl::Status {
    const bool is_new = cluster_.records.emplace(uuid, entry).second;
    return is_new ? absl::OkStatus() : AlreadyExists("there is a volume {} already", uuid);
  }));
  entry_ = entry;
  return absl::OkStatus();
}

// As in rbd/rbd_volumes.cc: a holder's decision also depends on the nodes that were read.
absl::Status ClusterRecords::Replace(const pool::VolumeRecord& present,
                                     const pool::VolumeRecord& next) {
  const std::string& uuid = next.volume.id.uuid;
  const VolumeState state = next.volume.state;
  const bool as_holder = state != present.volume.state && state != VolumeState::kReady;
  if (!entry_ || entry_->record != pool::EncodeRecord(present)) return Changed();
  RETURN_IF_ERROR(Carry(faults_, "replace record", uuid, [&]() -> absl::Status {
    const auto found = cluster_.records.find(uuid);
    if (found == cluster_.records.end() || found->second.record != entry_->record) return Changed();
    if (as_holder && found->second.nodes_version != entry_->nodes_version) return Changed();
    found->second.record = pool::EncodeRecord(next);
    return absl::OkStatus();
  }));
  entry_->record = pool::EncodeRecord(next);
  return absl::OkStatus();
}

absl::Status ClusterRecords::Remove(const pool::VolumeRecord& present) {
  const std::string& uuid = present.volume.id.uuid;
  if (!entry_) return absl::OkStatus();
  if (entry_->record != pool::EncodeRecord(present)) return Changed();
  RETURN_IF_ERROR(Carry(faults_, "remove record", uuid, [&]() -> absl::Status {
    const auto found = cluster_.records.find(uuid);
    if (found == cluster_.records.end()) return absl::OkStatus();
    if (found->second.record != entry_->record) return Changed();
    cluster_.records.erase(found);
    return absl::OkStatus();
  }));
  entry_.reset();
  return absl::OkStatus();
}

template <typename Change>
absl::Status ClusterBackend::Step(const char* name, const std::string& uuid, Change change) {
  return Carry(faults_, name, uuid, change);
}

absl::StatusOr<Cluster::Stored*> ClusterBackend::Find(const pool::VolumeRecord& record) {
  const auto found = cluster_.images.find(record.image_name);
  if (found != cluster_.images.end()) return &found->second;
  return FailedPrecondition("image '{}' is missing", record.image_name);
}

absl::StatusOr<bool> ClusterBackend::Exist(const pool::VolumeRecord& record) {
  bool exists = false;
  RETURN_IF_ERROR(Step("exist", record.volume.id.uuid, [&]() -> absl::Status {
    exists = cluster_.images.contains(record.image_name);
    return absl::OkStatus();
  }));
  return exists;
}

absl::StatusOr<Bytes> ClusterBackend::Size(const pool::VolumeRecord& record) {
  Bytes size = 0;
  RETURN_IF_ERROR(Step("size", record.volume.id.uuid, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Cluster::Stored* stored, Find(record));
    size = stored->image.size;
    return absl::OkStatus();
  }));
  return size;
}

absl::StatusOr<bool> ClusterBackend::HoldData(const pool::VolumeRecord& record, Bytes begin) {
  bool data = false;
  RETURN_IF_ERROR(Step("look for data", record.volume.id.uuid, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Cluster::Stored* stored, Find(record));
    data = stored->image.content.end > begin;
    return absl::OkStatus();
  }));
  return data;
}

absl::StatusOr<std::string> ClusterBackend::ReadMark(const pool::VolumeRecord& record) {
  std::string mark;
  RETURN_IF_ERROR(Step("read mark", record.volume.id.uuid, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Cluster::Stored* stored, Find(record));
    mark = stored->image.mark;
    return absl::OkStatus();
  }));
  return mark;
}

std::string ClusterBackend::NewName(const pool::VolumeRecord& record, const pool::VolumeRecord*) {
  return fmt::format("holdfast-{}-{:08x}", record.volume.id.uuid, ++cluster_.names);
}

absl::StatusOr<std::string> ClusterBackend::Make(const pool::VolumeRecord& record) {
  const std::string& name = record.image_name;
  const Bytes size = record.volume.capacity_bytes;
  const std::string id = fmt::format("id-{}", name);
  RETURN_IF_ERROR(Step("make", record.volume.id.uuid, [&]() -> absl::Status {
    if (cluster_.images.contains(name)) return Aborted("image '{}' is there already", name);
    if (cluster_.room < size) return ResourceExhausted("no room, as simulated");
    cluster_.images[name] = {
        .image = {.size = size, .allocated = 0, .mark = "", .content = {}}, .id = id, .zeroed = ""};
    return absl::OkStatus();
  }));
  return id;
}

absl::StatusOr<std::optional<pool::CopyProgress>> ClusterBackend::PlanCopy(
    const pool::VolumeRecord& source, VolumeRole role) {
  if (role == VolumeRole::kSnapshot || !cluster_.flattens) return std::nullopt;
  return pool::CopyProgress{
      .data_bytes = source.volume.capacity_bytes, .copied_to = 0, .source_version = ""};
}

absl::StatusOr<std::string> ClusterBackend::Copy(const pool::VolumeRecord& source,
                                                 const pool::VolumeRecord& record) {
  const std::string& name = record.image_name;
  const std::string id = fmt::format("id-{}", name);
  RETURN_IF_ERROR(Step("copy", record.volume.id.uuid, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Cluster::Stored* from, Find(source));
    if (cluster_.images.contains(name)) return Aborted("image '{}' is there already", name);
    if (from->image.size != source.volume.capacity_bytes) return Changed();
    cluster_.images[name] = {.image = {.size = record.volume.capacity_bytes,
                                       .allocated = 0,
                                       .mark = "",
                                       .content = from->image.content},
                             .id = id,
                             .zeroed = ""};
    return absl::OkStatus();
  }));
  return id;
}

absl::StatusOr<Bytes> ClusterBackend::CopyOn(const pool::VolumeRecord&,
                                             const pool::VolumeRecord& record) {
  constexpr Bytes kStep = 2 * kVolumeGranularity;
  RETURN_IF_ERROR(Step("flatten", record.volume.id.uuid,
                       [&]() -> absl::Status { return Find(record).status(); }));
  return std::min(record.volume.capacity_bytes, record.copy->copied_to + kStep);
}

absl::Status ClusterBackend::Extend(const pool::VolumeRecord& record, Bytes size) {
  return Step("extend", record.volume.id.uuid, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(Cluster::Stored* const stored, Find(record));
    if (cluster_.room < size) return ResourceExhausted("no room, as simulated");
    stored->image.size = std::max(stored->image.size, size);
    return absl::OkStatus();
  });
}

absl::Status ClusterBackend::CutOff(const pool::VolumeRecord& record, Bytes size) {
  ASSIGN_OR_RETURN(const Bytes present, Size(record));
  return present <= size ? absl::OkStatus() : FailedPrecondition("an image never shrinks");
}

absl::Status ClusterBackend::RequireHeldHere(const pool::VolumeRecord& record) {
  const auto device = devices_.find(record.volume.id.uuid);
  const bool held = records_.entry()->holder == process_ && device != devices_.end() &&
                    device->second.image == record.image_name;
  return held ? absl::OkStatus() : FailedPrecondition("the volume is not held by this node");
}

absl::Status ClusterBackend::Zero(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  RETURN_IF_ERROR(Step("forbid mark", uuid, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(Cluster::Stored* const stored, Find(record));
    if (!stored->image.mark.empty()) return FailedPrecondition("the image was marked meanwhile");
    stored->zeroed = record.volume.filesystem_uuid;
    return absl::OkStatus();
  }));
  return Step("zero", uuid, [&]() -> absl::Status {
    const auto device = devices_.find(record.volume.id.uuid);
    if (device == devices_.end() || device->second.fenced) return Unavailable("fenced");
    ASSIGN_OR_RETURN(Cluster::Stored* const stored, Find(record));
    stored->image.content = {};
    return absl::OkStatus();
  });
}

absl::Status ClusterBackend::Mark(const pool::VolumeRecord& record) {
  return Step("mark", record.volume.id.uuid, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(Cluster::Stored* const stored, Find(record));
    if (stored->zeroed == record.volume.filesystem_uuid) return Changed();
    stored->image.mark = record.volume.filesystem_uuid;
    return absl::OkStatus();
  });
}

absl::Status ClusterBackend::Discard(const pool::VolumeRecord& record) {
  if (record.image_name.empty()) return absl::OkStatus();
  return Step("discard", record.volume.id.uuid, [&]() -> absl::Status {
    for (ClusterDevices& devices : all_devices_) {
      for (auto& [uuid, device] : devices) {
        if (device.image == record.image_name) device.fenced = true;
      }
    }
    cluster_.images.erase(record.image_name);
    return absl::OkStatus();
  });
}

void ClusterBackend::Fence(int process, const std::string& uuid) {
  ClusterDevices& devices = all_devices_[static_cast<std::size_t>(process)];
  if (const auto device = devices.find(uuid); device != devices.end()) device->second.fenced = true;
}

// Announces the volume and creates its device. A living holder keeps the volume; writes of a dead
// holder no longer arrive.
absl::StatusOr<os::BlockDevice> ClusterBackend::Map(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  RETURN_IF_ERROR(Step("announce", uuid, [&]() -> absl::Status {
    const auto found = cluster_.records.find(uuid);
    if (found == cluster_.records.end() || !(found->second == *records_.entry())) return Changed();
    const int holder = found->second.holder;
    if (holder == process_) return absl::OkStatus();
    if (holder >= 0 && alive_[static_cast<std::size_t>(holder)]) {
      return FailedPrecondition("the volume is in use on another node");
    }
    if (holder >= 0) Fence(holder, uuid);
    found->second.holder = process_;
    ++found->second.nodes_version;
    records_.entry() = found->second;
    return absl::OkStatus();
  }));
  os::BlockDevice block;
  RETURN_IF_ERROR(Step("map", uuid, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Cluster::Stored* stored, Find(record));
    ClusterDevice& device = devices_[uuid];
    if (device.image != record.image_name || device.fenced) device = {.image = record.image_name};
    device.size = stored->image.size;
    block.size = device.size;
    return absl::OkStatus();
  }));
  return block;
}

absl::StatusOr<std::optional<os::BlockDevice>> ClusterBackend::FindDevice(
    const pool::VolumeRecord& record) {
  const auto found = devices_.find(record.volume.id.uuid);
  if (found == devices_.end()) return std::nullopt;
  os::BlockDevice block;
  block.size = found->second.size;
  return block;
}

absl::Status ClusterBackend::RefreshDevice(const pool::VolumeRecord& record) {
  return Step("refresh device", record.volume.id.uuid, [&]() -> absl::Status {
    const auto device = devices_.find(record.volume.id.uuid);
    const auto image = cluster_.images.find(record.image_name);
    if (device != devices_.end() && image != cluster_.images.end()) {
      device->second.size = image->second.image.size;
    }
    return absl::OkStatus();
  });
}

absl::Status ClusterBackend::RequireUnused(const pool::VolumeRecord& record) {
  return Step("require unused", record.volume.id.uuid, [&]() -> absl::Status {
    const auto own = devices_.find(record.volume.id.uuid);
    if (own != devices_.end() && own->second.open) return FailedPrecondition("in use here");
    const int holder = records_.entry()->holder;
    const bool elsewhere =
        holder >= 0 && holder != process_ && alive_[static_cast<std::size_t>(holder)];
    return elsewhere ? FailedPrecondition("in use on another node") : absl::OkStatus();
  });
}

absl::Status ClusterBackend::Unmap(const pool::VolumeRecord& record) {
  const std::string& uuid = record.volume.id.uuid;
  return Step("unmap", uuid, [&]() -> absl::Status {
    const auto device = devices_.find(uuid);
    if (device == devices_.end()) return absl::OkStatus();
    if (device->second.open) return FailedPrecondition("the device is in use");
    devices_.erase(device);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<pool::Reservation>> ClusterSpace::Reserve(const std::string&,
                                                                         Provisioning,
                                                                         Bytes increment) {
  class None final : public pool::Reservation {
    void Commit() override {}
  };
  if (increment > cluster_.room) return ResourceExhausted("no room, as simulated");
  return std::make_unique<None>();
}

}  // namespace holdfast::simulator
