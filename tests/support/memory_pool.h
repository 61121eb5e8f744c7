// SPDX-License-Identifier: Apache-2.0
// A pool without bytes: volumes are entries of a map, and there are no devices. For tests of the
// layers above pools.
#pragma once

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
    ASSIGN_OR_RETURN(const Bytes capacity, ChooseCapacity(spec.capacity, spec.minimum_bytes));
    Volume volume;
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
    std::vector<Volume> page;
    for (auto entry = volumes_.upper_bound(after_uuid); entry != volumes_.end(); ++entry) {
      if (limit != 0 && page.size() == limit) break;
      page.push_back(entry->second);
    }
    return page;
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
  absl::StatusOr<std::string> FormattedUuid(const VolumeId&) override { return NoDevices(); }
  absl::Status ZeroVolume(const VolumeId&) override { return NoDevices(); }

 private:
  static absl::Status NoDevices() { return FailedPrecondition("there are no devices in memory"); }

  pool::PoolInfo info_;
  std::map<std::string, Volume> volumes_;  // by uuid
};

}  // namespace holdfast::test
