// SPDX-License-Identifier: Apache-2.0
// What a kind of pool supplies to the volume state machine (pool/volume_lifecycle.h): durable
// records, the volumes' bytes and devices, and the account of space. None of them
// decides which state a volume is in or which step comes next.
//
// One object of each serves one call, so that it can work through a pool directory that was just
// verified, or a connection of one user. The caller holds the volume's lock (KeyLock).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/block_device.h"
#include "pool/quiesce.h"
#include "pool/volume_record.h"

namespace holdfast::pool {

// The durable records. Each function has taken effect durably when it returns OK, except for the
// name of a new record (SyncName). After an error it may have taken effect or not.
class VolumeRecords {
 public:
  virtual ~VolumeRecords() = default;

  // Whether other processes change these records, too. The caller's lock does not keep those out:
  // only Insert, Replace and Remove do, each of which fails if another process was faster. Such a
  // pool keeps its own account of space (VolumeSpace).
  [[nodiscard]] virtual bool AreShared() const = 0;

  // NOT_FOUND if there is none; INTERNAL if it is damaged. Sets only the uuid of volume.id.
  [[nodiscard]] virtual absl::StatusOr<VolumeRecord> Read(const std::string& uuid) = 0;

  // ALREADY_EXISTS if another process has inserted one.
  [[nodiscard]] virtual absl::Status Insert(const VolumeRecord& record) = 0;

  // ABORTED if the stored record is not `present` any more.
  [[nodiscard]] virtual absl::Status Replace(const VolumeRecord& present,
                                             const VolumeRecord& next) = 0;

  // Removes the record of a volume whose bytes were discarded. OK if there is none; ABORTED if the
  // stored record is not `present` any more.
  [[nodiscard]] virtual absl::Status Remove(const VolumeRecord& present) = 0;

  // Makes it durable that a new record can be found by its uuid.
  [[nodiscard]] virtual absl::Status SyncName() = 0;

  // The same for everything that an earlier process may have left unsynced of this volume.
  [[nodiscard]] virtual absl::Status SyncAll(const std::string& uuid) = 0;

  // Whether lists contain the volume; a volume that a failed call left behind may be missing.
  [[nodiscard]] virtual bool Lists(const std::string& uuid) = 0;
  virtual void Enlist(const VolumeRecord& record) = 0;

  // The UUIDs of the volumes and snapshots in state copying with this source, as lists have it.
  [[nodiscard]] virtual std::vector<std::string> CopiesUnderWay(const ContentSource&) { return {}; }

  // What an interrupted write of the record left behind.
  [[nodiscard]] virtual bool HasRemains(const std::string& uuid) = 0;
  [[nodiscard]] virtual absl::Status RemoveRemains(const std::string& uuid) = 0;
};

// What the bytes of a volume or snapshot show by themselves, whatever its record says.
class VolumeBytes {
 public:
  virtual ~VolumeBytes() = default;

  // Whether there are bytes that a device can show.
  [[nodiscard]] virtual absl::StatusOr<bool> Exist(const VolumeRecord& record) = 0;

  // FAILED_PRECONDITION if they are missing.
  [[nodiscard]] virtual absl::StatusOr<Bytes> Size(const VolumeRecord& record) = 0;

  // Whether any byte from `begin` on is other than zero.
  [[nodiscard]] virtual absl::StatusOr<bool> HoldData(const VolumeRecord& record, Bytes begin) = 0;

  // The UUID of the filesystem that was noted with the bytes (VolumeBackend::Mark); "" without
  // such a note, which proves nothing. INTERNAL if it cannot be read.
  [[nodiscard]] virtual absl::StatusOr<std::string> ReadMark(const VolumeRecord& record) = 0;

  // Whether it was noted with the bytes that they are a complete copy
  // (VolumeBackend::MarkCopied); without such a note nothing is proved.
  [[nodiscard]] virtual absl::StatusOr<bool> IsMarkedCopied(const VolumeRecord& record) = 0;
};

// The bytes and the devices. Changes are durable when a function returns OK.
class VolumeBackend : public VolumeBytes {
 public:
  // The name of the bytes to be made for a record without one (VolumeRecord::image_name), which no
  // other bytes ever had; "" where the volume's UUID says where they are. `source` is null unless
  // they are to be copied.
  [[nodiscard]] virtual std::string NewName(const VolumeRecord& record,
                                            const VolumeRecord* source) = 0;

  // Makes the bytes, zeros, as large as the record says, and returns the storage's own id of them
  // (VolumeRecord::image_id), "" if it has none. ALREADY_EXISTS if there are some;
  // RESOURCE_EXHAUSTED without room.
  [[nodiscard]] virtual absl::StatusOr<std::string> Make(const VolumeRecord& record) = 0;

  // How a copy of the source as a volume or snapshot begins that takes many calls of CopyOn;
  // nothing if Copy makes all of it at once. Nothing may change the source until the copy is
  // complete, unless the plan says that it is not needed any more (CopyProgress::source_version).
  [[nodiscard]] virtual absl::StatusOr<std::optional<CopyProgress>> PlanCopy(const VolumeRecord&,
                                                                             VolumeRole) {
    return std::nullopt;
  }

  // VolumeRecord::clone_depth of a copy of the source, when it is complete.
  [[nodiscard]] virtual int CloneDepth(const VolumeRecord&, VolumeRole) { return 0; }

  // Makes the bytes as Make does, with those of `source` at one instant of the call, followed by
  // zeros. If `record.copy` is set, only makes the room for them, and CopyOn copies.
  // FAILED_PRECONDITION, saying what is needed, if the storage cannot copy so.
  [[nodiscard]] virtual absl::StatusOr<std::string> Copy(const VolumeRecord& source,
                                                         const VolumeRecord& record) = 0;

  // OK if several volumes can be cut at one instant here. FAILED_PRECONDITION, saying what is
  // needed, otherwise.
  [[nodiscard]] virtual absl::Status RequireCutsTogether() {
    return FailedPrecondition("this kind of pool has no group snapshots");
  }

  // Does of a cut what can be done while the writers go on, so that they wait less for the rest.
  // What nothing writes to may be cut already; if something was written since, FinishCut says so.
  [[nodiscard]] virtual absl::Status PrepareCut(const VolumeRecord& source, const VolumeRecord&) {
    return Internal("'{}' cannot be cut with others", source.volume.id.uuid);
  }

  // What holds back the writers of a volume.
  struct Held {
    std::unique_ptr<Quiet> quiet;  // null: nothing
    bool in_use = false;           // something may write to it
    std::string node;              // without `quiet`: as Writers::node
    std::string device;            // as Writers::device
  };
  // Holds back the writers if they can be. Errors as pool::Quiesce.
  [[nodiscard]] virtual absl::StatusOr<Held> HoldWriters(const VolumeRecord& source) {
    return Internal("the writers of '{}' cannot be held back", source.volume.id.uuid);
  }

  // Makes the bytes as Copy does, in the shortest time and not durably. `held` is of the source.
  [[nodiscard]] virtual absl::Status CutHeld(const VolumeRecord& source, const VolumeRecord&,
                                             const Held&) {
    return Internal("'{}' cannot be cut with others", source.volume.id.uuid);
  }
  // Makes durable what was cut, and returns the storage's own id of it, as Make does. ABORTED if it
  // does not belong to the instant of the others.
  [[nodiscard]] virtual absl::StatusOr<std::string> FinishCut(const VolumeRecord& source,
                                                              const VolumeRecord&) {
    return Internal("'{}' cannot be cut with others", source.volume.id.uuid);
  }

  // Copies from `record.copy->copied_to` on for about half a second. Returns up to where the bytes
  // are copied now, durably; that is at least the source's capacity when it is complete. `source`
  // is the record itself where the copy needs no other.
  // FAILED_PRECONDITION: the source has changed since PlanCopy, so the copy is void;
  // RESOURCE_EXHAUSTED without room.
  [[nodiscard]] virtual absl::StatusOr<Bytes> CopyOn(const VolumeRecord& source,
                                                     const VolumeRecord& record) {
    return Internal("'{}' is not copied to '{}' in steps", source.volume.id.uuid,
                    record.volume.id.uuid);
  }

  // FAILED_PRECONDITION if the source has changed since PlanCopy made `record.copy`.
  [[nodiscard]] virtual absl::Status RequireUnchanged(const VolumeRecord&, const VolumeRecord&) {
    return absl::OkStatus();
  }

  // Notes with the bytes that they are the complete copy that the record asked for. OK without a
  // note where the storage keeps none.
  [[nodiscard]] virtual absl::Status MarkCopied(const VolumeRecord& record) = 0;

  // Whether a complete copy may still share storage with its source, so that overwriting one of
  // them needs room. False where sharing needs no room of the pool's account.
  [[nodiscard]] virtual absl::StatusOr<bool> SharesStorage(const VolumeRecord& record) = 0;

  // Gives the copy storage of its own, for about half a second; true when it has all, and
  // SharesStorage is false from then on. FAILED_PRECONDITION if that cannot be done while there is
  // a device; RESOURCE_EXHAUSTED without room.
  [[nodiscard]] virtual absl::StatusOr<bool> Unshare(const VolumeRecord& record) = 0;

  // Removes bytes that Make or Copy found and that were never used.
  [[nodiscard]] virtual absl::Status RemoveUnfinished(const VolumeRecord& record) = 0;

  // Makes them at least `size` bytes; the new ones read as zeros. RESOURCE_EXHAUSTED without room.
  [[nodiscard]] virtual absl::Status Extend(const VolumeRecord& record, Bytes size) = 0;

  // Takes back what Extend added beyond `size`. The caller has made sure that no device shows these
  // bytes and that they hold no data.
  [[nodiscard]] virtual absl::Status CutOff(const VolumeRecord& record, Bytes size) = 0;

  // Makes durable what an earlier process may have left unsynced.
  [[nodiscard]] virtual absl::Status Sync(const VolumeRecord& record) = 0;

  // FAILED_PRECONDITION unless only this node may change the bytes now.
  [[nodiscard]] virtual absl::Status RequireHeldHere(const VolumeRecord& record) = 0;

  // Makes every byte zero again. There may be no device afterwards. Where several nodes reach the
  // bytes: FAILED_PRECONDITION if they have been marked since, and Mark of the record's filesystem
  // fails from now on, because the node that was formatting them may only be cut off.
  [[nodiscard]] virtual absl::Status Zero(const VolumeRecord& record) = 0;

  // Notes with the bytes that they hold the record's filesystem. OK without a note where the
  // storage keeps none.
  [[nodiscard]] virtual absl::Status Mark(const VolumeRecord& record) = 0;

  // Bytes that are allocated for the volume alone now.
  [[nodiscard]] virtual absl::StatusOr<Bytes> Allocated(const VolumeRecord& record) = 0;
  // The same with those that it shares.
  [[nodiscard]] virtual absl::StatusOr<Bytes> Occupied(const VolumeRecord& record) = 0;

  // Puts the bytes where no call finds them, for good; OK if there are none. Purge then frees them.
  [[nodiscard]] virtual absl::Status Discard(const VolumeRecord& record) = 0;
  [[nodiscard]] virtual absl::Status Purge(const std::string& uuid) = 0;
  [[nodiscard]] virtual bool HasDiscarded(const std::string& uuid) = 0;

  // FAILED_PRECONDITION naming it if there is something in the volume's place that Holdfast did not
  // make.
  [[nodiscard]] virtual absl::Status RequireOnlyOwn(const std::string& uuid) = 0;

  // Makes the bytes a device of this node, or finds the one they are.
  [[nodiscard]] virtual absl::StatusOr<os::BlockDevice> Map(const VolumeRecord& record) = 0;
  [[nodiscard]] virtual absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const VolumeRecord& record) = 0;

  // Lets a device, if there is one, show the present size.
  [[nodiscard]] virtual absl::Status RefreshDevice(const VolumeRecord& record) = 0;

  // FAILED_PRECONDITION if anything uses the volume, or that cannot be ruled out.
  [[nodiscard]] virtual absl::Status RequireUnused(const VolumeRecord& record) = 0;

  // Takes the device away. FAILED_PRECONDITION while it is in use, or if another program has made a
  // device of the same bytes.
  [[nodiscard]] virtual absl::Status Unmap(const VolumeRecord& record) = 0;

  // The same without a call that asks for it, so that other programs' devices of the same bytes are
  // looked for more thoroughly.
  [[nodiscard]] virtual absl::Status UnmapAbandoned(const VolumeRecord& record) = 0;
};

// What is kept of volumes and snapshots that their CO has deleted: records with their bytes, out of
// reach of every other call, each under a key of its own (core/trash_id.h). Each function has taken
// effect durably when it returns OK; after an error it may have taken effect or not. Trash::Claim
// keeps calls of one process for one key apart. Where the records are shared
// (VolumeRecords::AreShared), other processes are kept out by Put, TakeBack, Replace and Purge
// themselves: ABORTED if the record is not the stored one any more.
class VolumeShelf {
 public:
  virtual ~VolumeShelf() = default;

  // The record under that key; `trashed` is set. NOT_FOUND if there is none; INTERNAL if it is
  // damaged.
  [[nodiscard]] virtual absl::StatusOr<VolumeRecord> Read(const std::string& key) = 0;

  // Moves record and bytes at once from the volume's UUID to `record.trashed->key`, which nothing
  // has. There is no device of them. What is stored may be an earlier record of the volume, in a
  // usable state, if this one could not be written: then Read makes it from the key.
  [[nodiscard]] virtual absl::Status Put(const VolumeRecord& record) = 0;

  // Moves them back at once; where the records are shared, the record is `next` from then on, and
  // elsewhere it is still `record`. ALREADY_EXISTS, with nothing changed, if there is something
  // under the UUID.
  [[nodiscard]] virtual absl::Status TakeBack(const VolumeRecord& record,
                                              const VolumeRecord& next) = 0;

  [[nodiscard]] virtual absl::Status Replace(const VolumeRecord& present,
                                             const VolumeRecord& next) = 0;

  // Frees the bytes, and removes the record after them. OK if there are none. What Holdfast did not
  // make is left alone, and the error names it.
  [[nodiscard]] virtual absl::Status Purge(const VolumeRecord& record) = 0;

  // FAILED_PRECONDITION if the bytes are missing, or not those that the record describes.
  [[nodiscard]] virtual absl::Status RequireWhole(const VolumeRecord& record) = 0;

  // As VolumeBackend::Allocated and VolumeBackend::Occupied.
  [[nodiscard]] virtual absl::StatusOr<Bytes> Allocated(const VolumeRecord& record) = 0;
  [[nodiscard]] virtual absl::StatusOr<Bytes> Occupied(const VolumeRecord& record) = 0;

  // Returns when what Purge has freed counts as free: some storages take a while.
  virtual void AwaitRoom() {}
};

// Space that was reserved and is released again when this ends, unless it was committed.
class Reservation {
 public:
  virtual ~Reservation() = default;
  virtual void Commit() = 0;
};

// The account of what the pool's volumes may use.
class VolumeSpace {
 public:
  virtual ~VolumeSpace() = default;

  // `increment` more bytes for the volume. RESOURCE_EXHAUSTED otherwise, with the figures.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Reservation>> Reserve(
      const std::string& uuid, Provisioning provisioning, Bytes increment) = 0;

  // States what is true of a volume now.
  virtual void Set(const std::string& uuid, Provisioning provisioning, Bytes provisioned,
                   Bytes allocated) = 0;
  virtual void Release(const std::string& uuid) = 0;

  // The same space under another name: that of an entry of the trash, or back.
  virtual void Rename(const std::string&, const std::string&) {}
  // Whether `increment` more bytes would fit if these were released and their bytes freed.
  [[nodiscard]] virtual bool WouldFitWithout(const std::vector<std::string>& /*names*/,
                                             Provisioning, Bytes /*increment*/) {
    return false;
  }

  // Whether the account has the volume with so many bytes.
  [[nodiscard]] virtual bool Has(const std::string& uuid, Provisioning provisioning,
                                 Bytes provisioned) = 0;
};

}  // namespace holdfast::pool
