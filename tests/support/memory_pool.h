// SPDX-License-Identifier: Apache-2.0
// A pool without bytes: volumes are entries of a map, and there are no devices. For tests of the
// layers above pools.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "pool/pool.h"

namespace holdfast::test {

class MemoryPool final : public pool::Pool {
 public:
  MemoryPool(std::string name, std::string node,
             std::string id = "11111111-2222-3333-4444-555555555555")
      : info_{.id = std::move(id),
              .name = std::move(name),
              .kind = "memory",
              .location = "/nowhere",
              .node = std::move(node),
              .default_filesystem = "ext4"} {}

  const pool::PoolInfo& info() const override { return info_; }
  absl::Status Recover() override { return absl::OkStatus(); }
  absl::StatusOr<std::vector<Leftover>> FindLeftovers() override { return std::vector<Leftover>(); }
  absl::StatusOr<bool> Repair(const VolumeId&) override { return false; }
  absl::Status CheckReady() override { return absl::OkStatus(); }

  VolumeId IdForName(const std::string& name) const override {
    return VolumeId{info_.name, info_.node, *UuidOfName(info_.id, name)};
  }

  absl::StatusOr<Volume> Create(const VolumeSpec& spec) override {
    Volume volume;
    Bytes capacity = 0;
    const auto made_before = volumes_.find(IdForName(spec.name).uuid);
    if (spec.source && spec.role == VolumeRole::kVolume && made_before != volumes_.end()) {
      return made_before->second;
    }
    if (spec.content) {
      capacity = std::max(spec.content->capacity_bytes, spec.capacity.required);
    } else if (spec.source) {
      const bool of_snapshot = spec.source->role == VolumeRole::kSnapshot;
      ASSIGN_OR_RETURN(const Volume source,
                       of_snapshot ? GetSnapshot(spec.source->id) : Get(spec.source->id));
      capacity = std::max(source.capacity_bytes, spec.capacity.required);
    } else {
      ASSIGN_OR_RETURN(capacity, ChooseCapacity(spec.capacity, spec.minimum_bytes));
    }
    volume.role = spec.role;
    volume.source = spec.source;
    volume.created_at = "2026-01-02T03:04:05Z";
    if (spec.role == VolumeRole::kSnapshot) {
      volume.id = IdForSpec(spec);
      volume.held_at = spec.hold ? volume.created_at : "";
      volume.name = spec.name;
      volume.capacity_bytes = capacity;
      volume.state = VolumeState::kReady;
      const Volume& made = snapshots_.try_emplace(volume.id.uuid, volume).first->second;
      if (made.source == spec.source) return made;
      return AlreadyExists("a snapshot named '{}' exists with another source", spec.name);
    }
    volume.id = IdForName(spec.name);
    volume.name = spec.name;
    volume.capacity_bytes = capacity;
    volume.provisioning = spec.provisioning;
    volume.access_type = spec.access_type;
    volume.state = VolumeState::kReady;
    volume.filesystem = spec.filesystem;
    volume.parameters = spec.parameters;
    volume.requested_by = spec.requested_by;
    return volumes_.try_emplace(volume.id.uuid, volume).first->second;
  }

  absl::Status Delete(const VolumeId& id) override {
    volumes_.erase(id.uuid);
    return absl::OkStatus();
  }

  absl::StatusOr<Volume> Get(const VolumeId& id) override {
    const auto found = volumes_.find(id.uuid);
    if (found == volumes_.end()) return NotFound("there is no volume '{}'", id.ToString());
    return found->second;
  }

  absl::StatusOr<std::vector<Volume>> List(const std::string& after_uuid,
                                           std::size_t limit) override {
    return PageOf(volumes_, after_uuid, limit);
  }

  absl::Status DeleteSnapshot(const VolumeId& id) override {
    const MutexLock lock(deleting_mutex_);  // those of a group are deleted at the same time
    snapshots_.erase(id.uuid);
    return absl::OkStatus();
  }

  absl::StatusOr<Volume> GetSnapshot(const VolumeId& id) override {
    const auto found = snapshots_.find(id.uuid);
    if (found == snapshots_.end()) return NotFound("there is no snapshot '{}'", ToSnapshotId(id));
    return found->second;
  }

  absl::StatusOr<std::vector<Volume>> ListSnapshots(const std::string& after_uuid,
                                                    std::size_t limit) override {
    return PageOf(snapshots_, after_uuid, limit);
  }

  int kept = 0;  // calls of KeepHeld
  absl::Status KeepHeld(const VolumeId& id) override {
    ++kept;
    return GetSnapshot(id).status();
  }

  absl::StatusOr<Content> DescribeContent(const VolumeId& id) override {
    ASSIGN_OR_RETURN(const Volume snapshot, GetSnapshot(id));
    return Content{.capacity_bytes = snapshot.capacity_bytes,
                   .data_bytes = snapshot.capacity_bytes,
                   .sector_size = 512,
                   .access_type = AccessType::kMount,
                   .filesystem = "ext4",
                   .inherited_uuids = {},
                   .version = "1"};
  }
  // Group snapshots: the steps are noted, and each may fail or find a writer that it cannot hold.
  absl::StatusOr<std::unique_ptr<pool::MemberCut>> BeginCut(const VolumeSpec& spec) override {
    RETURN_IF_ERROR(Note("begin"));
    ASSIGN_OR_RETURN(const Volume source, Get(spec.source->id));
    Volume snapshot;
    snapshot.role = VolumeRole::kSnapshot;
    snapshot.id = IdForSnapshotName(spec.name);
    snapshot.name = spec.name;
    snapshot.capacity_bytes = source.capacity_bytes;
    snapshot.state = VolumeState::kCut;
    snapshot.source = spec.source;
    snapshot.group = spec.group;
    snapshot.parameters = spec.parameters;
    snapshot.created_at = "2026-01-02T03:04:05Z";
    return std::make_unique<MemoryCut>(*this, std::move(snapshot), source.access_type);
  }
  absl::StatusOr<bool> EndMember(const VolumeId& id, const std::string& group, bool keep) override {
    RETURN_IF_ERROR(Note(keep ? "keep" : "remove"));
    const auto found = undecided_.find(id.uuid);
    if (found != undecided_.end() && found->second.group->id == group) {
      found->second.state = VolumeState::kReady;
      if (keep) snapshots_.insert(*found);
      undecided_.erase(found);
    }
    const auto there = snapshots_.find(id.uuid);
    return there != snapshots_.end() && there->second.group && there->second.group->id == group;
  }
  absl::Status answers;  // of MembersOf, if it is an error
  absl::StatusOr<std::vector<Volume>> MembersOf(const std::string& group) override {
    RETURN_IF_ERROR(answers);
    std::vector<Volume> members = PageOf(snapshots_, "", 0);
    std::erase_if(members, [&](const Volume& one) { return !one.group || one.group->id != group; });
    return members;
  }
  std::vector<Volume> Undecided() override { return PageOf(undecided_, "", 0); }

  // Of a pool that several processes serve: what Hold says of a volume whose writers another node
  // has; and the volumes that this process has as a device, by id: which device, and whether its
  // writers can be held back.
  std::map<std::string, pool::Writers> writers;
  struct Device {
    std::string name;
    bool can_freeze = true;
  };
  std::map<std::string, Device> devices;
  std::atomic<int> frozen{0};  // of these devices
  absl::StatusOr<std::unique_ptr<pool::MemberCut>> BeginHold(const VolumeId& id,
                                                             const std::string& device,
                                                             const CutOptions&) override {
    const auto found = devices.find(id.ToString());
    if (found == devices.end() || found->second.name != device) return nullptr;
    return std::make_unique<MemoryHold>(*this, found->second.can_freeze);
  }

  // What these steps were since the last query; the step that fails from now on, "" for none.
  std::vector<std::string> TakeSteps() { return std::exchange(steps_, {}); }
  void FailAt(std::string step) { failing_ = std::move(step); }

  absl::StatusOr<Volume> Grow(const VolumeId& id, Bytes required, Bytes limit) override {
    ASSIGN_OR_RETURN(Volume volume, Get(id));
    ASSIGN_OR_RETURN(volume.capacity_bytes,
                     ChooseCapacity({required, limit}, volume.capacity_bytes));
    return volumes_[id.uuid] = volume;
  }

  absl::StatusOr<PoolCapacity> GetCapacity(Provisioning) override {
    RETURN_IF_ERROR(room.status());
    return PoolCapacity{*room, *room, kVolumeGranularity};
  }
  absl::StatusOr<Bytes> room = kTiB;
  absl::StatusOr<pool::PoolUsage> GetUsage() override { return usage; }
  pool::PoolUsage usage;
  absl::StatusOr<Bytes> allocated = FailedPrecondition("only the storage knows");  // to each
  absl::StatusOr<Bytes> AllocatedTo(const VolumeId&) override { return allocated; }
  std::set<std::string> damaged;  // the names of volumes that are abnormal
  VolumeCondition Condition(const Volume& volume) override {
    return damaged.contains(volume.name) ? VolumeCondition{true, "damaged"}
                                         : VolumeCondition{false, "fine"};
  }

  absl::Status PublishTo(const VolumeId& id, const std::string&, AccessMode) override {
    return Get(id).status();
  }
  absl::Status UnpublishFrom(const VolumeId&, const std::string&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<os::BlockDevice> MapDevice(const VolumeId&, AccessMode) override {
    return NoDevices();
  }
  absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(const VolumeId&) override {
    return std::nullopt;
  }
  absl::Status UnmapDevice(const VolumeId&) override { return absl::OkStatus(); }
  absl::StatusOr<std::vector<VolumeId>> ListOwnDevices() override {
    return std::vector<VolumeId>();
  }
  absl::Status UnmapOwnDevice(const VolumeId&) override { return absl::OkStatus(); }
  absl::Status StartFormatting(const VolumeId&, const std::string&) override { return NoDevices(); }
  absl::Status FinishFormatting(const VolumeId&) override { return NoDevices(); }
  absl::Status FinishAdoption(const VolumeId&) override { return NoDevices(); }
  absl::StatusOr<Volume> TakeOverFilesystem(const VolumeId&, const std::string&,
                                            const std::string&) override {
    return NoDevices();
  }
  absl::StatusOr<std::string> FormattedUuid(const VolumeId&) override { return NoDevices(); }
  absl::Status ZeroVolume(const VolumeId&) override { return NoDevices(); }

 private:
  class MemoryCut final : public pool::MemberCut {
   public:
    MemoryCut(MemoryPool& pool, Volume snapshot, AccessType access)
        : pool_(pool), snapshot_(std::move(snapshot)), access_(access) {}
    absl::Status Prepare() override { return pool_.Note("prepare"); }
    absl::StatusOr<pool::Writers> Hold() override {
      RETURN_IF_ERROR(pool_.Note("hold"));
      const auto found = pool_.writers.find(snapshot_.source->id.ToString());
      if (found != pool_.writers.end()) return found->second;
      return pool::Writers{.held = access_ == AccessType::kMount};
    }
    absl::Status Cut() override { return pool_.Note("cut"); }
    absl::Status Release() override { return pool_.Note("release"); }
    absl::Status Seal() override {
      RETURN_IF_ERROR(pool_.Note("seal"));
      pool_.undecided_.insert_or_assign(snapshot_.id.uuid, snapshot_);
      return absl::OkStatus();
    }
    absl::Status Undo(const absl::Status& cause) override {
      pool_.undecided_.erase(snapshot_.id.uuid);
      return cause;
    }

   private:
    MemoryPool& pool_;
    const Volume snapshot_;
    const AccessType access_;
  };
  class MemoryHold final : public pool::MemberCut {
   public:
    MemoryHold(MemoryPool& pool, bool can_freeze) : pool_(pool), can_freeze_(can_freeze) {}
    ~MemoryHold() override { Thaw(); }
    absl::Status Prepare() override { return pool_.Note("sync"); }
    absl::StatusOr<pool::Writers> Hold() override {
      RETURN_IF_ERROR(pool_.Note("freeze"));
      is_frozen_ = can_freeze_;
      if (is_frozen_) ++pool_.frozen;
      return pool::Writers{.held = can_freeze_};
    }
    absl::Status Cut() override { return absl::OkStatus(); }
    absl::Status Release() override {
      Thaw();
      return pool_.Note("thaw");
    }
    absl::Status Seal() override { return absl::OkStatus(); }
    absl::Status Undo(const absl::Status& cause) override { return cause; }

   private:
    void Thaw() {
      if (std::exchange(is_frozen_, false)) --pool_.frozen;
    }
    MemoryPool& pool_;
    const bool can_freeze_;
    bool is_frozen_ = false;
  };
  absl::Status Note(const std::string& step) {
    const MutexLock lock(steps_mutex_);  // some steps are taken for several at the same time
    steps_.push_back(step);
    return step == failing_ ? Internal("'{}' fails, as the test wants it", step) : absl::OkStatus();
  }
  static absl::Status NoDevices() { return FailedPrecondition("there are no devices in memory"); }

  using Entries = std::map<std::string, Volume>;  // by uuid

  static std::vector<Volume> PageOf(const Entries& entries, const std::string& after_uuid,
                                    std::size_t limit) {
    std::vector<Volume> page;
    for (auto entry = entries.upper_bound(after_uuid); entry != entries.end(); ++entry) {
      if (limit != 0 && page.size() == limit) break;
      page.push_back(entry->second);
    }
    return page;
  }

  pool::PoolInfo info_;
  Entries volumes_;
  Entries snapshots_;
  Entries undecided_;
  Mutex deleting_mutex_;
  Mutex steps_mutex_;
  std::vector<std::string> steps_;
  std::string failing_;
};

}  // namespace holdfast::test
