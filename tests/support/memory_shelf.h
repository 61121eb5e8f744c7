// SPDX-License-Identifier: Apache-2.0
// A trash in memory, beside the volumes of the simulator's machine.
#pragma once

#include <string>

#include "pool/volume_backend.h"
#include "simulator/memory_volumes.h"

namespace holdfast::test {

// `fail` names a function that fails without effect.
class MemoryShelf final : public pool::VolumeShelf {
 public:
  explicit MemoryShelf(simulator::Machine& machine) : machine_(machine) {}

  absl::StatusOr<pool::VolumeRecord> Read(const std::string& key) override {
    const auto found = machine_.trash.find(key);
    if (found == machine_.trash.end()) return NotFound("there is no entry {}", key);
    return *found->second->now.record;
  }
  absl::Status Put(const pool::VolumeRecord& record) override {
    RETURN_IF_ERROR(FailureOf("put"));
    const auto found = machine_.volumes.find(record.volume.id.uuid);
    if (found == machine_.volumes.end()) return absl::OkStatus();
    machine_.trash[record.trashed->key] = found->second;
    machine_.volumes.erase(found);
    return absl::OkStatus();
  }
  absl::Status TakeBack(const pool::VolumeRecord& record, const pool::VolumeRecord&) override {
    RETURN_IF_ERROR(FailureOf("take back"));
    const auto found = machine_.trash.find(record.trashed->key);
    machine_.volumes[record.volume.id.uuid] = found->second;
    machine_.trash.erase(found);
    return absl::OkStatus();
  }
  absl::Status Replace(const pool::VolumeRecord&, const pool::VolumeRecord& next) override {
    RETURN_IF_ERROR(FailureOf("replace"));
    machine_.trash.at(next.trashed->key)->now.record = next;
    return absl::OkStatus();
  }
  absl::Status Purge(const pool::VolumeRecord& record) override {
    RETURN_IF_ERROR(FailureOf("purge"));
    machine_.trash.erase(record.trashed->key);
    return absl::OkStatus();
  }
  absl::Status RequireWhole(const pool::VolumeRecord& record) override {
    if (machine_.trash.at(record.trashed->key)->now.image) return absl::OkStatus();
    return FailedPrecondition("the image is missing");
  }
  absl::StatusOr<Bytes> Allocated(const pool::VolumeRecord& record) override {
    return machine_.trash.at(record.trashed->key)->now.image->allocated;
  }
  absl::StatusOr<Bytes> Occupied(const pool::VolumeRecord& record) override {
    return Allocated(record);
  }

  std::string fail;

 private:
  absl::Status FailureOf(const std::string& function) const {
    return fail == function ? Internal("{} failed", function) : absl::OkStatus();
  }
  simulator::Machine& machine_;
};

}  // namespace holdfast::test
