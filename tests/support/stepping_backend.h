// SPDX-License-Identifier: Apache-2.0
// Storage in memory that cannot share blocks: copies are made in steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/memory_volumes.h"

namespace holdfast::test {

// Each call of CopyOn copies kStep bytes, and the last one what the bytes are.
class SteppingBackend final : public simulator::MemoryBackend {
 public:
  static constexpr Bytes kStep = kVolumeGranularity;

  SteppingBackend(simulator::Machine& machine, simulator::Faults& faults)
      : MemoryBackend(machine, faults), machine_(machine), faults_(faults) {}

  absl::StatusOr<std::optional<pool::CopyProgress>> PlanCopy(const pool::VolumeRecord& source,
                                                             VolumeRole) override {
    const std::string version = needs_source ? VersionOf(source) : "";
    return pool::CopyProgress{.data_bytes = 2 * kStep, .source_version = version};
  }
  absl::StatusOr<std::string> Copy(const pool::VolumeRecord&,
                                   const pool::VolumeRecord& record) override {
    return Make(record);
  }
  absl::Status RequireUnchanged(const pool::VolumeRecord& source,
                                const pool::VolumeRecord& record) override {
    if (!needs_source || VersionOf(source) == record.copy->source_version) return absl::OkStatus();
    return FailedPrecondition("the source was changed");
  }
  absl::StatusOr<Bytes> CopyOn(const pool::VolumeRecord& source,
                               const pool::VolumeRecord& record) override {
    using simulator::Fault;
    RETURN_IF_ERROR(RequireUnchanged(source, record));
    RETURN_IF_ERROR(failure);
    starts.push_back(record.copy->copied_to / kStep);
    const Bytes reached = record.copy->copied_to + kStep;
    const Fault fault = faults_.At("copy on", record.volume.id.uuid);
    simulator::Directory& copy = *machine_.volumes.at(record.volume.id.uuid);
    if (reached >= source.volume.capacity_bytes) copy.now.image->content = ContentOf(source);
    if (fault == Fault::kNone) {
      copy.synced_image = copy.now.image;
      if (copy.durable.image) copy.durable.image = copy.synced_image;
    }
    faults_.After(fault);
    if (fault != Fault::kNone) return Internal("copy on failed, as injected");
    return reached;
  }

  absl::Status failure;
  bool needs_source = true;
  std::vector<Bytes> starts;  // of each call, in steps

 private:
  simulator::Content& ContentOf(const pool::VolumeRecord& source) {
    return machine_.volumes.at(source.volume.id.uuid)->now.image->content;
  }
  std::string VersionOf(const pool::VolumeRecord& source) { return "v " + ContentOf(source).data; }
  simulator::Machine& machine_;
  simulator::Faults& faults_;
};

}  // namespace holdfast::test
