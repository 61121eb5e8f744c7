// SPDX-License-Identifier: Apache-2.0
// Ending what was left half done: deletions are finished, creations that were never answered
// removed, growths finished or taken back. Interrupted formatting is left to the next stage, which
// alone knows filesystems. And what must be known of each volume before the first call.
#include <algorithm>

#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"
#include "pool/volume_match.h"

namespace holdfast::pool {
namespace {

// In a pool that several processes serve, a CO that still wants the volume repeats its creation at
// least every few minutes.
constexpr absl::Duration kCreationPatience = absl::Minutes(30);
// In such a pool another process that is at work on a group decides within about a minute
// (controller/local_groups.h).
constexpr absl::Duration kDecisionPatience = absl::Minutes(2);

}  // namespace

absl::StatusOr<VolumeRecord> VolumeLifecycle::Get(const VolumeId& id, VolumeRole role) {
  auto record = records_.Read(id.uuid);
  if (!record.ok() && !absl::IsNotFound(record.status())) return record;
  const bool usable = record.ok() && IsUsable(record->volume.state);
  const bool unreturned =
      usable && role == VolumeRole::kVolume && record->volume.state == VolumeState::kCopying;
  if (usable && !unreturned && record->volume.role == role) return record;
  if (record.ok() && !usable) RETURN_IF_ERROR(RequireUnwanted(backend_, *record));
  return NotFound("there is no {} '{}'", ToString(role), ContentSource{role, id}.ToString());
}

std::optional<LeftoverKind> VolumeLifecycle::FindLeftover(const std::string& uuid) {
  const auto record = records_.Read(uuid);
  if (absl::IsNotFound(record.status())) return std::nullopt;
  return record.ok() ? LeftoverIn(*record) : LeftoverKind::kDamagedVolume;
}

std::optional<LeftoverKind> VolumeLifecycle::LeftoverIn(const VolumeRecord& record) {
  if (IsCompleteCopy(record)) return LeftoverKind::kUnfinishedCreation;
  if (!RequireUnwanted(backend_, record).ok()) return LeftoverKind::kDamagedVolume;
  if (const auto kind = LeftoverKindOf(record)) return kind;
  if (!IsUsable(record.volume.state)) return std::nullopt;
  if (!IsAccounted(record)) return LeftoverKind::kUnlistedVolume;
  if (records_.HasRemains(record.volume.id.uuid)) return LeftoverKind::kTemporaryFile;
  if (NeedsOwnStorage(record)) return LeftoverKind::kSharedStorage;
  return std::nullopt;
}

// What cannot be found out now is looked for again.
bool VolumeLifecycle::NeedsOwnStorage(const VolumeRecord& record) {
  return record.volume.source && record.volume.provisioning == Provisioning::kThick &&
         backend_.SharesStorage(record).value_or(false);
}

std::optional<LeftoverKind> VolumeLifecycle::LeftoverKindOf(const VolumeRecord& record) const {
  const Volume& volume = record.volume;
  if (volume.state == VolumeState::kDeleting || volume.state == VolumeState::kTrashed) {
    return LeftoverKind::kUnfinishedDeletion;
  }
  if (volume.state == VolumeState::kAllocating) {
    const bool under_way = records_.AreShared() && AgeOf(volume, now_()) <= kCreationPatience;
    return under_way ? std::nullopt : std::optional(LeftoverKind::kUnfinishedCreation);
  }
  if (volume.state == VolumeState::kCut) {
    const bool under_way = records_.AreShared() && AgeOf(volume, now_()) <= kDecisionPatience;
    return under_way ? std::nullopt : std::optional(LeftoverKind::kUndecidedSnapshot);
  }
  if (record.grow_to_bytes != 0) return LeftoverKind::kUnfinishedGrowth;
  const bool in_steps = record.copy && !record.copy->from_elsewhere();
  if (in_steps || IsAbandoned(record)) return LeftoverKind::kUnfinishedCopy;
  return std::nullopt;
}

absl::StatusOr<bool> VolumeLifecycle::Repair(const VolumeId& id) {
  const bool discarded = backend_.HasDiscarded(id.uuid);
  RETURN_IF_ERROR(backend_.Purge(id.uuid));
  const auto stored = records_.Read(id.uuid);
  // A deletion that failed after its bytes were discarded.
  if (absl::IsNotFound(stored.status())) {
    RETURN_IF_ERROR(Forget(NoRecordOf(id.uuid)));
    return discarded;
  }
  RETURN_IF_ERROR(stored.status());
  VolumeRecord record = *stored;
  if (!LeftoverIn(record)) return discarded;
  if (IsCompleteCopy(record)) {
    RETURN_IF_ERROR(FinishMarkedCopy(record).status());
    return true;
  }
  if (record.volume.state == VolumeState::kCut) return discarded;  // EndMember ends it
  RETURN_IF_ERROR(RequireUnwanted(backend_, record));
  if (!IsUsable(record.volume.state)) {
    RETURN_IF_ERROR(backend_.RequireOnlyOwn(id.uuid));
    RETURN_IF_ERROR(backend_.UnmapAbandoned(record));
    RETURN_IF_ERROR(FinishDeletion(record));
    return true;
  }
  if (!IsAccounted(record)) RETURN_IF_ERROR(Account(record));
  if (record.grow_to_bytes != 0) {
    RETURN_IF_ERROR(FinishEarlierGrowth(record));
    RETURN_IF_ERROR(backend_.RefreshDevice(record));
  }
  RETURN_IF_ERROR(records_.RemoveRemains(id.uuid));
  if (IsAbandoned(record)) {
    RETURN_IF_ERROR(WriteTombstone(record));
    RETURN_IF_ERROR(FinishDeletion(record));
    return true;
  }
  if (record.copy && record.copy->from_elsewhere()) return true;
  if (record.copy) return RepairCopy(record);
  if (!NeedsOwnStorage(record)) return true;
  const auto unshared = backend_.Unshare(record);
  RETURN_IF_ERROR(Account(record));
  return unshared;
}

absl::Status VolumeLifecycle::Count(const std::string& uuid) {
  const absl::StatusOr<VolumeRecord> record = records_.Read(uuid);
  if (record.ok() && IsCompleteCopy(*record)) {  // until a repeated call or Repair completes it
    AccountBySize(uuid);
    return absl::OkStatus();
  }
  const absl::Status believed = record.ok() ? RequireUnwanted(backend_, *record) : record.status();
  if (believed.ok()) return Annotate(Account(*record), fmt::format("volume {}", uuid));
  AccountBySize(uuid);
  return believed;
}

bool VolumeLifecycle::IsAccounted(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  if (!records_.Lists(volume.id.uuid)) return false;
  return volume.role == VolumeRole::kSnapshot ||
         space_.Has(volume.id.uuid, volume.provisioning, *Promised(record));
}

// What the account keeps for it. Nothing is ever written to a snapshot, so it needs no more than it
// has, with what it shares until that is overwritten elsewhere.
absl::StatusOr<Bytes> VolumeLifecycle::Promised(const VolumeRecord& record) {
  if (record.volume.role == VolumeRole::kSnapshot) {
    return record.copy ? record.copy->data_bytes : backend_.Occupied(record);
  }
  return std::max(record.volume.capacity_bytes, record.grow_to_bytes);
}

// Nothing is provisioned for unfinished creations and deletions; their bytes count as used. What is
// undecided shares blocks for a while, and what is on its way into the trash keeps its space.
absl::Status VolumeLifecycle::Account(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  const bool counts = IsUsable(volume.state) || volume.state == VolumeState::kCut ||
                      volume.state == VolumeState::kTrashed;
  if (!counts) return absl::OkStatus();
  records_.Enlist(record);
  const auto allocated = backend_.Allocated(record);
  // Counted even when damaged: it stays provisioned until an administrator deletes it.
  space_.Set(volume.id.uuid, volume.provisioning, Promised(record).value_or(volume.capacity_bytes),
             allocated.value_or(0));
  return allocated.status();
}

void VolumeLifecycle::AccountStored(const std::string& uuid) {
  if (records_.AreShared()) return;  // the storage keeps its own account
  const auto record = records_.Read(uuid);
  if (!record.ok() || !IsUsable(record->volume.state)) return;
  const auto allocated = backend_.Allocated(*record);
  if (!allocated.ok()) return;
  const Volume& volume = record->volume;
  space_.Set(uuid, volume.provisioning, Promised(*record).value_or(volume.capacity_bytes),
             *allocated);
}

// What a damaged or too old record provisioned is not known, but its bytes have that size.
void VolumeLifecycle::AccountBySize(const std::string& uuid) {
  VolumeRecord unknown;
  unknown.volume.id.uuid = uuid;
  const auto size = backend_.Size(unknown);
  const auto allocated = backend_.Allocated(unknown);
  if (size.ok() && allocated.ok()) space_.Set(uuid, Provisioning::kThin, *size, *allocated);
}

}  // namespace holdfast::pool
