// SPDX-License-Identifier: Apache-2.0
// A pool without bytes: volumes are entries of a map, and there are no devices. For tests of the
// layers above pools.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
    if (spec.source) {
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
      volume.id = IdForSnapshotName(spec.name);
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

  absl::StatusOr<Volume> Grow(const VolumeId& id, Bytes required, Bytes limit) override {
    ASSIGN_OR_RETURN(Volume volume, Get(id));
    ASSIGN_OR_RETURN(volume.capacity_bytes,
                     ChooseCapacity({required, limit}, volume.capacity_bytes));
    return volumes_[id.uuid] = volume;
  }

  absl::StatusOr<PoolCapacity> GetCapacity(Provisioning) override {
    return PoolCapacity{kTiB, kTiB, kVolumeGranularity};
  }
  absl::StatusOr<pool::PoolUsage> GetUsage() override { return pool::PoolUsage{}; }
  VolumeCondition Condition(const Volume&) override { return {false, "fine"}; }

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
  absl::StatusOr<std::string> FormattedUuid(const VolumeId&) override { return NoDevices(); }
  absl::Status ZeroVolume(const VolumeId&) override { return NoDevices(); }

 private:
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
};

}  // namespace holdfast::test
