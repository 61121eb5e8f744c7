// SPDX-License-Identifier: Apache-2.0
// The volume state machine: the order of steps in which volumes and snapshots of every kind of pool
// are created, formatted, grown, repaired and deleted, and what has to be proved before each.
// docs/on-disk.md has the states; docs/adr/0023 says why this is written once, and 0025 why
// snapshots are part of it.
#pragma once

#include <absl/time/clock.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "core/leftover.h"
#include "pool/trash.h"
#include "pool/volume_backend.h"

namespace holdfast::pool {

// Where deleted volumes and snapshots are kept, in pools that can; both outlive the call.
struct Keeping {
  VolumeShelf& shelf;
  Trash& trash;
};

// Serves one call; the three objects that it works on serve the same call. Errors common to all
// functions: those of the backend; NOT_FOUND if there is no such volume, or only an unfinished one.
class VolumeLifecycle final {
 public:
  // `now` is replaced in simulations.
  VolumeLifecycle(VolumeRecords& records, VolumeBackend& backend, VolumeSpace& space,
                  absl::Time (*now)() = absl::Now, std::optional<Keeping> keeping = std::nullopt)
      : records_(records), backend_(backend), space_(space), now_(now), keeping_(keeping) {}

  // Pool::Create; `id` is the one of the spec's name, `sector_size` that of the device if there is
  // no source. The caller holds the lock of the source, too.
  [[nodiscard]] absl::StatusOr<VolumeRecord> Create(const VolumeSpec& spec, const VolumeId& id,
                                                    std::uint32_t sector_size);
  // Pool::Delete and Pool::DeleteSnapshot
  [[nodiscard]] absl::Status Delete(const VolumeId& id, VolumeRole role = VolumeRole::kVolume);
  // Pool::Get and Pool::GetSnapshot
  [[nodiscard]] absl::StatusOr<VolumeRecord> Get(const VolumeId& id,
                                                 VolumeRole role = VolumeRole::kVolume);
  // Pool::Grow
  [[nodiscard]] absl::StatusOr<VolumeRecord> Grow(const VolumeId& id, Bytes required, Bytes limit);
  // Pool::MapDevice
  [[nodiscard]] absl::StatusOr<os::BlockDevice> Map(const VolumeId& id);

  // Pool::StartFormatting and so on
  [[nodiscard]] absl::Status StartFormatting(const VolumeId& id,
                                             const std::string& filesystem_uuid);
  [[nodiscard]] absl::Status FinishFormatting(const VolumeId& id);
  [[nodiscard]] absl::StatusOr<std::string> FormattedUuid(const VolumeId& id);
  // Pool::FinishAdoption
  [[nodiscard]] absl::Status FinishAdoption(const VolumeId& id);
  // Pool::TakeOverFilesystem
  [[nodiscard]] absl::StatusOr<VolumeRecord> TakeOver(const VolumeId& id,
                                                      const std::string& filesystem,
                                                      const std::string& filesystem_uuid);
  [[nodiscard]] absl::Status Zero(const VolumeId& id);

  // The record of a complete snapshot, for Pool::DescribeContent. ABORTED while it is being copied.
  [[nodiscard]] absl::StatusOr<VolumeRecord> GetContent(const VolumeId& id);
  // Pool::KeepHeld
  [[nodiscard]] absl::Status KeepHeld(const VolumeId& id);
  // Pool::WriteContent and so on: the record of a volume whose bytes with that version are on their
  // way from another pool. ABORTED if it is no longer wanted.
  [[nodiscard]] absl::StatusOr<VolumeRecord> GetArriving(const VolumeId& id,
                                                         const std::string& version);
  [[nodiscard]] absl::Status NoteArrived(const VolumeId& id, const std::string& arrival, Bytes to);
  [[nodiscard]] absl::Status FinishArrival(const VolumeId& id, const std::string& arrival);

  // A creation that has reserved its room and has a record, and what it copies.
  struct Begun {
    VolumeRecord record;
    std::optional<VolumeRecord> source;
    std::unique_ptr<Reservation> reservation;
    bool marked = false;  // the mark of a complete copy is this call's own
  };
  // The steps of a group snapshot's member, in their order (pool/group_member.h). Between the first
  // two the caller has the backend cut (VolumeBackend::PrepareCut and so on).
  // ABORTED if there is one of that name, or one that is undecided.
  [[nodiscard]] absl::StatusOr<Begun> BeginMember(const VolumeSpec& spec, const VolumeId& id);
  // Makes the cut durable: state cut.
  [[nodiscard]] absl::Status SealMember(Begun& member);
  // Removes it after a failure. Returns the cause, or UNAVAILABLE if something is left.
  [[nodiscard]] absl::Status UndoMember(Begun member, const absl::Status& cause);
  // Pool::EndMember
  [[nodiscard]] absl::StatusOr<bool> EndMember(const VolumeId& id, const std::string& group,
                                               bool keep);

  // Of a pool with a trash (volume_trash.cc). `key` is a TrashKey. ABORTED while another call is at
  // work on the entry.
  // Pool::RestoreTrash; the caller holds the lock of the place that the entry gets back.
  [[nodiscard]] absl::StatusOr<VolumeRecord> Restore(const std::string& key);
  // Pool::PurgeTrash
  [[nodiscard]] absl::Status PurgeEntry(const std::string& key);
  // Pool::TendTrash
  [[nodiscard]] absl::StatusOr<bool> Tend(const std::string& key);
  // Count, of an entry.
  [[nodiscard]] absl::Status CountEntry(const std::string& key);

  // What an earlier call left half done; nothing without a record. Needs no lock and changes
  // nothing, so a call that is under way looks half done, too.
  [[nodiscard]] std::optional<LeftoverKind> FindLeftover(const std::string& uuid);
  // The same from the record alone, for pools that look at many.
  [[nodiscard]] std::optional<LeftoverKind> LeftoverKindOf(const VolumeRecord& record) const;
  // Pool::Repair
  [[nodiscard]] absl::StatusOr<bool> Repair(const VolumeId& id);
  // The record of a volume whose creation begins at `now`: state allocating.
  [[nodiscard]] static VolumeRecord NewRecord(const VolumeSpec& spec, const std::string& uuid,
                                              Bytes capacity, std::uint32_t sector_size,
                                              absl::Time now);
  // The same for a copy of `source`, which has its sector size. A snapshot has its other
  // properties, too. INVALID_ARGUMENT if it cannot become what is asked for; OUT_OF_RANGE if it
  // does not fit into the capacity limit.
  [[nodiscard]] static absl::StatusOr<VolumeRecord> NewCopyRecord(const VolumeSpec& spec,
                                                                  const std::string& uuid,
                                                                  const VolumeRecord& source,
                                                                  absl::Time now);
  // At the start: enters the volume into lists and the account of space. An error says what is
  // damaged; its bytes are counted all the same.
  [[nodiscard]] absl::Status Count(const std::string& uuid);

 private:
  // volume_copy.cc
  // In which a new volume comes into use.
  static VolumeState FirstStateOf(const Volume& volume);
  // Whether only the record's last step is missing.
  bool IsCompleteCopy(const VolumeRecord& record);
  absl::StatusOr<VolumeRecord> FinishMarkedCopy(const VolumeRecord& record);
  absl::StatusOr<VolumeRecord> FinishCopy(const VolumeRecord& record);
  // volume_copying.cc
  // FAILED_PRECONDITION if it is gone.
  absl::StatusOr<VolumeRecord> SourceOfCopy(const VolumeRecord& record);
  // One step of a copy in state copying; the record as it is afterwards.
  absl::StatusOr<VolumeRecord> CopyOn(const VolumeRecord& record);
  absl::StatusOr<VolumeRecord> ContinueCopy(const VolumeRecord& record, const VolumeSpec& spec);
  absl::StatusOr<VolumeRecord> BeginCopying(const VolumeRecord& record);
  absl::Status UndoCopy(VolumeRecord record, const absl::Status& cause);
  // A step, as Repair takes it; whether the copy has ended by it.
  absl::StatusOr<bool> RepairCopy(const VolumeRecord& record);
  // What Create returns of it: ABORTED, saying how far it is, for a volume in state copying.
  static absl::StatusOr<VolumeRecord> AnswerOf(const VolumeRecord& record);
  static absl::Status RequireComplete(const VolumeRecord& source);
  // ABORTED, saying how far it is, while a copy of the volume or snapshot is being made.
  absl::Status RequireNotBeingCopied(const VolumeRecord& record, const VolumeId& id);

  // volume_arrival.cc
  absl::StatusOr<VolumeRecord> ContinueArrival(const VolumeRecord& record, const VolumeSpec& spec);
  // The record of the volume that is still the one of that arrival.
  absl::StatusOr<VolumeRecord> GetArrival(const VolumeId& id, const std::string& arrival);

  // volume_hold.cc
  // Whether it was there for calls that are not repeated any more.
  bool IsAbandoned(const VolumeRecord& record) const;

  // volume_creation.cc
  absl::Status RequireAbandoned(const VolumeRecord& record) const;
  absl::StatusOr<VolumeRecord> UseExisting(const VolumeRecord& record, const VolumeSpec& spec);
  absl::Status PlanCopy(const VolumeSpec& spec, const VolumeId& id, Begun& begun);
  absl::Status PlanArrival(const VolumeSpec& spec, const VolumeId& id, Begun& begun);
  absl::StatusOr<Begun> Begin(const VolumeSpec& spec, const VolumeId& id,
                              std::uint32_t sector_size);
  absl::StatusOr<VolumeRecord> Complete(Begun begun);
  absl::Status Fill(Begun& begun);
  absl::StatusOr<std::string> MakeBytes(const Begun& begun);
  absl::StatusOr<VolumeRecord> ReadSource(const VolumeSpec& spec);
  absl::Status UndoCreation(const Begun& begun, const absl::Status& cause);
  void RemoveUnnamed(const VolumeRecord& record);

  // volume_group.cc
  absl::StatusOr<Begun> BeginNewMember(const VolumeSpec& spec, const VolumeId& id);

  // volume_deletion.cc
  absl::Status WriteTombstone(VolumeRecord& record);
  absl::Status FinishDeletion(VolumeRecord record);
  absl::Status Forget(const VolumeRecord& record);
  // Stands for a volume of which there is no record.
  static VolumeRecord NoRecordOf(const std::string& uuid);

  // volume_trash.cc
  // How long the volume is kept when it is deleted; 0: not at all.
  std::chrono::seconds KeepTimeOf(const VolumeRecord& record) const;
  absl::StatusOr<std::string> FreeKeyFor(const std::string& uuid);
  // Instead of WriteTombstone and FinishDeletion.
  absl::Status MoveToTrash(const VolumeRecord& record, std::chrono::seconds keep);
  // For a record in state trashed that is still in its old place.
  absl::Status FinishMove(const VolumeRecord& record);
  absl::Status RequireFreePlace(const VolumeRecord& record);
  absl::Status AccountEntry(const VolumeRecord& record);
  absl::Status TakeBack(const VolumeRecord& record, const VolumeRecord& next);
  absl::Status BackInTrash(const VolumeRecord& record, const absl::Status& cause);
  absl::StatusOr<VolumeRecord> ReadEntry(const std::string& key);
  absl::Status Purge(const VolumeRecord& record);
  // VolumeSpace::Reserve, after entries of the trash were purged for it where the pool says so.
  absl::StatusOr<std::unique_ptr<Reservation>> Reserve(const std::string& uuid,
                                                       Provisioning provisioning, Bytes increment);
  // The same for a creation.
  absl::StatusOr<std::unique_ptr<Reservation>> ReserveNew(const std::string& uuid,
                                                          Provisioning provisioning,
                                                          Bytes increment);

  // volume_growth.cc
  absl::StatusOr<Bytes> GrowableSize(const VolumeRecord& record, Bytes required);
  absl::Status GrowTo(VolumeRecord& record, Bytes target, Bytes present);
  absl::Status FinishEarlierGrowth(VolumeRecord& record);
  absl::Status FinishGrowth(VolumeRecord& record, Bytes present);
  absl::Status ExtendOrUndo(VolumeRecord& record, Bytes present);
  absl::Status UndoGrowth(VolumeRecord& record, Bytes present);

  // volume_repair.cc
  std::optional<LeftoverKind> LeftoverIn(const VolumeRecord& record);
  // Whether the volume is in lists and in the account of space as its record has it. A call that
  // failed in the middle may have left it otherwise.
  bool NeedsOwnStorage(const VolumeRecord& record);
  absl::StatusOr<Bytes> Promised(const VolumeRecord& record);
  bool IsAccounted(const VolumeRecord& record);
  absl::Status Account(const VolumeRecord& record);
  // Accounts the volume as its stored record has it: the write of a record that failed may have
  // taken effect all the same (its sync failed).
  void AccountStored(const std::string& uuid);
  void AccountBySize(const std::string& uuid);

  VolumeRecords& records_;
  VolumeBackend& backend_;
  VolumeSpace& space_;
  absl::Time (*const now_)();
  const std::optional<Keeping> keeping_;
};

}  // namespace holdfast::pool
