// SPDX-License-Identifier: Apache-2.0
// Records and images of a pool that several processes share, in memory. Every change is atomic and
// durable at once. The possible faults: another process is faster, an answer is lost, a process is
// killed.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "pool/volume_backend.h"
#include "simulator/memory_volumes.h"

namespace holdfast::simulator {

// The state that all processes see.
struct Cluster {
  struct Entry {
    std::string record;  // encoded
    int holder = -1;     // the process that has the volume as a device
    int nodes_version = 0;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Stored {
    Image image;
    std::string id;
    std::string zeroed;  // the filesystem whose mark is refused
  };
  std::map<std::string, Entry> records;  // by UUID
  std::map<std::string, Stored> images;  // by name
  std::uint64_t names = 0;               // given so far
  Bytes room = 0;
  bool flattens = false;  // a copy of a volume or snapshot is made independent before its first use
};

// The state that dies with a process: its devices, by UUID.
struct ClusterDevice {
  std::string image;
  Bytes size = 0;
  bool open = false;
  bool fenced = false;  // another process has taken the volume over: writes no longer arrive
};
using ClusterDevices = std::map<std::string, ClusterDevice>;

class ClusterRecords final : public pool::VolumeRecords {
 public:
  ClusterRecords(Cluster& cluster, Faults& faults) : cluster_(cluster), faults_(faults) {}
  [[nodiscard]] std::optional<Cluster::Entry>& entry() { return entry_; }

  bool AreShared() const override { return true; }
  absl::StatusOr<pool::VolumeRecord> Read(const std::string& uuid) override;
  absl::Status Insert(const pool::VolumeRecord& record) override;
  absl::Status Replace(const pool::VolumeRecord& present, const pool::VolumeRecord& next) override;
  absl::Status Remove(const pool::VolumeRecord& present) override;
  absl::Status SyncName() override { return absl::OkStatus(); }
  absl::Status SyncAll(const std::string&) override { return absl::OkStatus(); }
  bool Lists(const std::string&) override { return true; }
  void Enlist(const pool::VolumeRecord&) override {}
  bool HasRemains(const std::string&) override { return false; }
  absl::Status RemoveRemains(const std::string&) override { return absl::OkStatus(); }

 private:
  Cluster& cluster_;
  Faults& faults_;
  std::optional<Cluster::Entry> entry_;
};

class ClusterBackend final : public pool::VolumeBackend {
 public:
  // `all_devices` and `alive` belong to all processes.
  ClusterBackend(Cluster& cluster, int process, ClusterDevices& devices, ClusterRecords& records,
                 std::vector<ClusterDevices>& all_devices, const std::vector<bool>& alive,
                 Faults& faults)
      : cluster_(cluster),
        process_(process),
        devices_(devices),
        records_(records),
        all_devices_(all_devices),
        alive_(alive),
        faults_(faults) {}

  absl::StatusOr<bool> Exist(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Size(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> HoldData(const pool::VolumeRecord& record, Bytes begin) override;
  absl::StatusOr<std::string> ReadMark(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> IsMarkedCopied(const pool::VolumeRecord&) override { return false; }
  absl::StatusOr<std::optional<pool::CopyProgress>> PlanCopy(const pool::VolumeRecord& source,
                                                             VolumeRole role) override;
  // All at one instant. What a copy needs of its source it keeps.
  absl::StatusOr<std::string> Copy(const pool::VolumeRecord& source,
                                   const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> CopyOn(const pool::VolumeRecord& source,
                               const pool::VolumeRecord& record) override;
  absl::Status MarkCopied(const pool::VolumeRecord&) override { return absl::OkStatus(); }
  absl::StatusOr<bool> SharesStorage(const pool::VolumeRecord&) override { return false; }
  absl::StatusOr<bool> Unshare(const pool::VolumeRecord&) override { return true; }
  std::string NewName(const pool::VolumeRecord& record, const pool::VolumeRecord*) override;
  absl::StatusOr<std::string> Make(const pool::VolumeRecord& record) override;
  absl::Status RemoveUnfinished(const pool::VolumeRecord& record) override {
    return Discard(record);
  }
  absl::Status Extend(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status CutOff(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status Sync(const pool::VolumeRecord&) override { return absl::OkStatus(); }
  absl::Status RequireHeldHere(const pool::VolumeRecord& record) override;
  absl::Status Zero(const pool::VolumeRecord& record) override;
  absl::Status Mark(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Allocated(const pool::VolumeRecord&) override { return Bytes{0}; }
  absl::StatusOr<Bytes> Occupied(const pool::VolumeRecord&) override { return Bytes{0}; }
  absl::Status Discard(const pool::VolumeRecord& record) override;
  absl::Status Purge(const std::string&) override { return absl::OkStatus(); }
  bool HasDiscarded(const std::string&) override { return false; }
  absl::Status RequireOnlyOwn(const std::string&) override { return absl::OkStatus(); }
  absl::StatusOr<os::BlockDevice> Map(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const pool::VolumeRecord& record) override;
  absl::Status RefreshDevice(const pool::VolumeRecord& record) override;
  absl::Status RequireUnused(const pool::VolumeRecord& record) override;
  absl::Status Unmap(const pool::VolumeRecord& record) override;
  absl::Status UnmapAbandoned(const pool::VolumeRecord& record) override { return Unmap(record); }

 private:
  // Runs the primitive `name`: `change` takes effect unless the fault prevents it. Returns its
  // error, unless the answer is lost.
  template <typename Change>
  absl::Status Step(const char* name, const std::string& uuid, Change change);
  absl::StatusOr<Cluster::Stored*> Find(const pool::VolumeRecord& record);
  void Fence(int process, const std::string& uuid);

  Cluster& cluster_;
  const int process_;
  ClusterDevices& devices_;
  ClusterRecords& records_;
  std::vector<ClusterDevices>& all_devices_;
  const std::vector<bool>& alive_;
  Faults& faults_;
};

class ClusterSpace final : public pool::VolumeSpace {
 public:
  explicit ClusterSpace(Cluster& cluster) : cluster_(cluster) {}
  absl::StatusOr<std::unique_ptr<pool::Reservation>> Reserve(const std::string& uuid,
                                                             Provisioning provisioning,
                                                             Bytes increment) override;
  void Set(const std::string&, Provisioning, Bytes, Bytes) override {}
  void Release(const std::string&) override {}
  bool Has(const std::string&, Provisioning, Bytes) override { return true; }

 private:
  Cluster& cluster_;
};

}  // namespace holdfast::simulator
