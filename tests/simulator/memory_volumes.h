// SPDX-License-Identifier: Apache-2.0
// Records and bytes of volumes in memory, with everything that can go wrong on a disk. Each
// function of the two interfaces is a primitive, at which calls interleave, errors happen with or
// without effect, the process is killed, or the power fails, which loses what was not synced.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pool/ledger.h"
#include "pool/volume_backend.h"
#include "simulator/fibers.h"

namespace holdfast::simulator {

// The contents of a volume's bytes.
struct Content {
  std::string filesystem;  // UUID; empty: nothing recognised
  bool complete = false;   // mkfs has finished
  std::string data;        // data that a user wrote and synced; empty: none
  Bytes end = 0;           // behind the last byte that is not zero
  bool hidden = false;     // a probe recognises nothing, although there is data

  friend bool operator==(const Content&, const Content&) = default;
};

struct Image {
  Bytes size = 0;
  Bytes allocated = 0;
  std::string mark;
  bool copied = false;              // a complete copy
  bool unshared = false;            // one that shares nothing any more
  std::vector<Content> parts = {};  // while it is copied: what the source held, for each unit
  Content content;
};

// A volume's directory: as programs see it, and as it is after the power failed.
struct Directory {
  struct Files {
    std::optional<pool::VolumeRecord> record;
    std::optional<Image> image;
    bool temporary_record = false;
  };
  Files now;
  Files durable;
  std::optional<Image> synced_image;  // its content; `durable` has it once its name is synced

  void SyncImage();
};

struct Device {
  Bytes size = 0;
  std::shared_ptr<Directory> directory;
  bool open = false;  // mounted, or held by a user
};

// The state that survives a process. Devices do not survive the machine.
struct Machine {
  using Entries = std::map<std::string, std::shared_ptr<Directory>>;
  Bytes total = 0;
  Entries volumes, volumes_durable;
  Entries trash, trash_durable;
  std::map<std::string, Device> devices;

  void LosePower();
  [[nodiscard]] Bytes Available() const;
};

// Thrown at a primitive when the process is killed or the power fails.
struct Killed {};

enum class Fault { kNone, kError, kErrorDone, kKill, kKillDone, kPower, kPowerDone };

// Decides at each primitive whether a fault happens.
class Faults {
 public:
  virtual ~Faults() = default;
  // Before the primitive `name` on the volume.
  virtual Fault At(const char* name, const std::string& uuid) = 0;
  // After it, with whatever effect it had. Throws Killed for the faults that kill.
  virtual void After(Fault fault) = 0;
};

class MemoryRecords final : public pool::VolumeRecords {
 public:
  MemoryRecords(Machine& machine, std::set<std::string>& listed, Faults& faults)
      : machine_(machine), listed_(listed), faults_(faults) {}
  bool AreShared() const override { return false; }
  absl::StatusOr<pool::VolumeRecord> Read(const std::string& uuid) override;
  absl::Status Insert(const pool::VolumeRecord& record) override;
  absl::Status Replace(const pool::VolumeRecord& present, const pool::VolumeRecord& next) override;
  absl::Status Remove(const pool::VolumeRecord& present) override;
  absl::Status SyncName() override;
  absl::Status SyncAll(const std::string& uuid) override;
  bool Lists(const std::string& uuid) override { return listed_.contains(uuid); }
  void Enlist(const pool::VolumeRecord& record) override;
  std::vector<std::string> CopiesUnderWay(const ContentSource& source) override;
  bool HasRemains(const std::string& uuid) override;
  absl::Status RemoveRemains(const std::string& uuid) override;

 private:
  absl::Status Write(const char* name, const pool::VolumeRecord& record);
  Machine& machine_;
  std::set<std::string>& listed_;  // of the process
  Faults& faults_;
};

class MemoryBackend : public pool::VolumeBackend {
 public:
  MemoryBackend(Machine& machine, Faults& faults) : machine_(machine), faults_(faults) {}
  absl::StatusOr<bool> Exist(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Size(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> HoldData(const pool::VolumeRecord& record, Bytes begin) override;
  absl::StatusOr<std::string> ReadMark(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> IsMarkedCopied(const pool::VolumeRecord& record) override;
  std::string NewName(const pool::VolumeRecord&, const pool::VolumeRecord*) override { return {}; }
  absl::StatusOr<std::string> Make(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::string> Copy(const pool::VolumeRecord& source,
                                   const pool::VolumeRecord& record) override;
  absl::Status MarkCopied(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> SharesStorage(const pool::VolumeRecord& record) override;
  absl::StatusOr<bool> Unshare(const pool::VolumeRecord& record) override;
  absl::Status RemoveUnfinished(const pool::VolumeRecord& record) override;
  absl::Status Extend(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status CutOff(const pool::VolumeRecord& record, Bytes size) override;
  absl::Status Sync(const pool::VolumeRecord& record) override;
  absl::Status RequireHeldHere(const pool::VolumeRecord&) override { return absl::OkStatus(); }
  absl::Status Zero(const pool::VolumeRecord& record) override;
  absl::Status Mark(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Allocated(const pool::VolumeRecord& record) override;
  absl::StatusOr<Bytes> Occupied(const pool::VolumeRecord& record) override;
  absl::Status Discard(const pool::VolumeRecord& record) override;
  absl::Status Purge(const std::string& uuid) override;
  bool HasDiscarded(const std::string& uuid) override;
  absl::Status RequireOnlyOwn(const std::string&) override { return absl::OkStatus(); }
  absl::StatusOr<os::BlockDevice> Map(const pool::VolumeRecord& record) override;
  absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const pool::VolumeRecord& record) override;
  absl::Status RefreshDevice(const pool::VolumeRecord& record) override;
  absl::Status RequireUnused(const pool::VolumeRecord& record) override;
  absl::Status Unmap(const pool::VolumeRecord& record) override;
  absl::Status UnmapAbandoned(const pool::VolumeRecord& record) override { return Unmap(record); }

 private:
  // `change` alters the image as programs see it; it is durable unless the primitive fails.
  template <typename Change>
  absl::Status Alter(const char* name, const pool::VolumeRecord& record, Change change);
  template <typename Question>
  absl::Status Look(const char* name, const pool::VolumeRecord& record, Question question);
  [[nodiscard]] Directory* Find(const std::string& uuid) const;
  Machine& machine_;
  Faults& faults_;
};

// The product's own ledger, fed by the machine.
class MemorySpace final : public pool::VolumeSpace {
 public:
  MemorySpace(Machine& machine, pool::Ledger& ledger) : machine_(machine), ledger_(ledger) {}
  absl::StatusOr<std::unique_ptr<pool::Reservation>> Reserve(const std::string& uuid,
                                                             Provisioning provisioning,
                                                             Bytes increment) override;
  void Set(const std::string& uuid, Provisioning provisioning, Bytes provisioned,
           Bytes allocated) override {
    ledger_.Set(uuid, provisioning, provisioned, allocated);
  }
  void Release(const std::string& uuid) override { ledger_.Remove(uuid); }
  void Rename(const std::string& from, const std::string& to) override { ledger_.Rename(from, to); }
  bool WouldFitWithout(const std::vector<std::string>& names, Provisioning provisioning,
                       Bytes increment) override {
    return ledger_.WouldFitWithout(names, provisioning, increment,
                                   {.total = machine_.total, .available = machine_.Available()});
  }
  bool Has(const std::string& uuid, Provisioning provisioning, Bytes provisioned) override {
    return ledger_.ProvisionedTo(uuid, provisioning) == provisioned;
  }

 private:
  Machine& machine_;
  pool::Ledger& ledger_;
};

}  // namespace holdfast::simulator
