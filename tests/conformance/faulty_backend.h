// SPDX-License-Identifier: Apache-2.0
// Forwards every primitive of a kind of pool, and makes one of them fail: with an error or a kill,
// before or after its effect.
#pragma once

#include <memory>
#include <string>

#include "pool/volume_backend.h"

namespace holdfast::conformance {

enum class Fault { kError, kErrorDone, kKill, kKillDone };

// Thrown when the process is killed.
struct Killed {};

// Makes the primitive number `at` (from 0) fail in the given way, and no other.
struct Injection {
  Fault fault = Fault::kError;
  int at = -1;
  int passed = 0;        // primitives so far
  std::string failed{};  // the name of the one that failed
  bool enabled = true;
};

class FaultyRecords final : public pool::VolumeRecords {
 public:
  FaultyRecords(pool::VolumeRecords& real, Injection& injection)
      : real_(real), injection_(injection) {}
  bool AreShared() const override { return real_.AreShared(); }
  absl::StatusOr<pool::VolumeRecord> Read(const std::string& uuid) override;
  absl::Status Insert(const pool::VolumeRecord& record) override;
  absl::Status Replace(const pool::VolumeRecord& present, const pool::VolumeRecord& next) override;
  absl::Status Remove(const pool::VolumeRecord& present) override;
  absl::Status SyncName() override;
  absl::Status SyncAll(const std::string& uuid) override;
  bool Lists(const std::string& uuid) override { return real_.Lists(uuid); }
  void Enlist(const pool::VolumeRecord& record) override { real_.Enlist(record); }
  std::vector<std::string> CopiesUnderWay(const ContentSource& source) override {
    return real_.CopiesUnderWay(source);
  }
  bool HasRemains(const std::string& uuid) override { return real_.HasRemains(uuid); }
  absl::Status RemoveRemains(const std::string& uuid) override;

 private:
  pool::VolumeRecords& real_;
  Injection& injection_;
};

class FaultyBackend final : public pool::VolumeBackend {
 public:
  FaultyBackend(pool::VolumeBackend& real, Injection& injection)
      : real_(real), injection_(injection) {}
  absl::StatusOr<bool> Exist(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Size(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> HoldData(const pool::VolumeRecord& record, Bytes begin) override;
  absl::StatusOr<std::string> ReadMark(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> IsMarkedCopied(const pool::VolumeRecord& record) override;
  std::string NewName(const pool::VolumeRecord& record, const pool::VolumeRecord* source) override {
    return real_.NewName(record, source);
  }
  int CloneDepth(const pool::VolumeRecord& source, VolumeRole role) override {
    return real_.CloneDepth(source, role);
  }
  absl::StatusOr<std::string> Make(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::optional<pool::CopyProgress>> PlanCopy(const pool::VolumeRecord& source,
                                                             VolumeRole role) override;
  absl::StatusOr<Bytes> CopyOn(const pool::VolumeRecord& source,
                               const pool::VolumeRecord& record) override;
  absl::Status RequireUnchanged(const pool::VolumeRecord& source,
                                const pool::VolumeRecord& record) override;
  absl::StatusOr<std::string> Copy(const pool::VolumeRecord& source,
                                   const pool::VolumeRecord& record) override;
  absl::Status MarkCopied(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> SharesStorage(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> Unshare(const pool::VolumeRecord& record) override;
  absl::Status RemoveUnfinished(const pool::VolumeRecord& record) override;
  absl::Status Extend(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status CutOff(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status Sync(const pool::VolumeRecord& record) override;
  absl::Status RequireHeldHere(const pool::VolumeRecord& record) override;
  absl::Status Zero(const pool::VolumeRecord& record) override;
  absl::Status Mark(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Allocated(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Occupied(const pool::VolumeRecord& record) override;
  absl::Status Discard(const pool::VolumeRecord& record) override;
  absl::Status Purge(const std::string& uuid) override;
  bool HasDiscarded(const std::string& uuid) override { return real_.HasDiscarded(uuid); }
  absl::Status RequireOnlyOwn(const std::string& uuid) override;
  absl::StatusOr<os::BlockDevice> Map(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const pool::VolumeRecord& record) override;
  absl::Status RefreshDevice(const pool::VolumeRecord& record) override;
  absl::Status RequireUnused(const pool::VolumeRecord& record) override;
  absl::Status Unmap(const pool::VolumeRecord& record) override;
  absl::Status UnmapAbandoned(const pool::VolumeRecord& record) override;

 private:
  pool::VolumeBackend& real_;
  Injection& injection_;
};

}  // namespace holdfast::conformance
