// SPDX-License-Identifier: Apache-2.0
// Copies of volumes in memory: at one instant where the storage can share blocks or the source is
// in use, otherwise in steps, which take a part of what the source holds at that moment.
#pragma once

#include <optional>
#include <string>

#include "simulator/memory_volumes.h"

namespace holdfast::simulator {

constexpr Bytes kCopyUnit = kVolumeGranularity;

class CopyingBackend final : public MemoryBackend {
 public:
  CopyingBackend(Machine& machine, Faults& faults, bool can_share)
      : MemoryBackend(machine, faults), machine_(machine), faults_(faults), can_share_(can_share) {}

  absl::StatusOr<std::optional<pool::CopyProgress>> PlanCopy(const pool::VolumeRecord& source,
                                                             VolumeRole role) override;
  absl::StatusOr<std::string> Copy(const pool::VolumeRecord& source,
                                   const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> CopyOn(const pool::VolumeRecord& source,
                               const pool::VolumeRecord& record) override;
  absl::Status RequireUnchanged(const pool::VolumeRecord& source,
                                const pool::VolumeRecord& record) override;
  // Nothing is shared that was copied in steps.
  absl::StatusOr<bool> SharesStorage(const pool::VolumeRecord& record) override;

  // Of a group, whose caller keeps others from writing to the source.
  absl::Status RequireCutsTogether() override { return absl::OkStatus(); }
  absl::Status PrepareCut(const pool::VolumeRecord&, const pool::VolumeRecord&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<Held> HoldWriters(const pool::VolumeRecord&) override { return Held{}; }
  absl::Status CutHeld(const pool::VolumeRecord& source, const pool::VolumeRecord& record,
                       const Held&) override {
    return Copy(source, record).status();
  }
  absl::StatusOr<std::string> FinishCut(const pool::VolumeRecord&,
                                        const pool::VolumeRecord& record) override {
    RETURN_IF_ERROR(Sync(record));
    return std::string();
  }

 private:
  [[nodiscard]] const Image* Find(const std::string& uuid) const;
  [[nodiscard]] bool IsInUse(const std::string& uuid) const;

  Machine& machine_;
  Faults& faults_;
  const bool can_share_;
};

// What shows that the bytes are still the same.
[[nodiscard]] std::string VersionOf(const Content& content);

// Puts the part of `content` from `begin` to `end` into a copy of `size` bytes of it. Once all of
// it is there, the copy holds that content, or torn bytes if it changed in between.
void TakePart(Image& copy, const Content& content, Bytes begin, Bytes end, Bytes size);

}  // namespace holdfast::simulator
