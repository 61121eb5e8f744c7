// SPDX-License-Identifier: Apache-2.0
// What a file pool tells about its space and its snapshots, from memory: no image is opened for it
// that the account of space does not count anyway.
#include "file/file_pool.h"

namespace holdfast::file {
namespace {

// In the ledger a snapshot has what it occupies, and of that the part that it does not share is
// allocated.
void Count(const Volume& snapshot, const pool::Ledger& ledger, pool::SnapshotCounts& counts,
           pool::BlockSharing& blocks) {
  const std::string& uuid = snapshot.id.uuid;
  const Bytes lacking = ledger.LackingTo(uuid);
  blocks.snapshots_own += ledger.ProvisionedTo(uuid, snapshot.provisioning) - lacking;
  if (snapshot.state == VolumeState::kCopying) {
    ++counts.copying;
    return;
  }
  blocks.snapshots_shared += lacking;
  if (lacking == 0) {
    ++counts.own;
  } else if (snapshot.provisioning == Provisioning::kThin) {
    ++counts.shared;
  } else {
    ++counts.settling;
    blocks.to_unshare += lacking;
  }
}

}  // namespace

absl::StatusOr<pool::PoolUsage> FilePool::GetUsage() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(pool::PoolUsage usage, space_.Usage(pool));
  usage.volumes = records_.Count(VolumeRole::kVolume);
  pool::BlockSharing blocks{.unshared = unshared_.load()};
  for (const Volume& snapshot : records_.List(VolumeRole::kSnapshot, "", 0)) {
    Count(snapshot, space_.ledger(), usage.snapshots, blocks);
  }
  for (const Volume& volume : records_.List(VolumeRole::kVolume, "", 0)) {
    const bool settles = volume.source && volume.provisioning == Provisioning::kThick;
    if (settles) blocks.to_unshare += space_.ledger().LackingTo(volume.id.uuid);
  }
  usage.blocks = blocks;
  usage.trash = {.entries = trash_.Count(), .allocated = trash_.Allocated()};
  usage.without_direct_io = devices_.CountWithoutDirectIo();
  return usage;
}

absl::StatusOr<Bytes> FilePool::AllocatedTo(const VolumeId& id) {
  return space_.ledger().AllocatedTo(id.uuid);
}

absl::StatusOr<std::vector<pool::UnfinishedVolume>> FilePool::ListUnfinished() {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  std::vector<pool::UnfinishedVolume> unfinished;
  for (const std::string& uuid : records_.VolumesUnderWay()) {
    const auto record = RecordStore::Read(pool.volumes, uuid);
    if (!record.ok() || !pool::IsUnreturned(*record)) continue;  // it has ended just now
    unfinished.push_back({WithPool(record->volume), record->copy->copied_to});
  }
  return unfinished;
}

}  // namespace holdfast::file
