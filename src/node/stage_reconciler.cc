// SPDX-License-Identifier: Apache-2.0
#include "node/stage_reconciler.h"

#include <algorithm>

#include "node/mount_teardown.h"
#include "node/staged_growth.h"

namespace holdfast::node {
namespace {

using os::MountTable;
using state::StageRecord;
using state::StageState;

bool IsMounted(const MountTable& mounts, const os::BlockDevice& device) {
  const std::string node = device.path.substr(device.path.rfind('/') + 1);
  return !mounts.OfDevice(device.number).empty() || !mounts.OfDeviceNode(node).empty();
}

// Whether a volume is still mounted where the record says, whatever device is behind it.
bool ShowsAnything(const os::DeviceOwners& devices, const MountTable& mounts,
                   const state::StageRecord& record, const std::string& uuid) {
  const auto shows = [&](const std::string& path) {
    const os::MountEntry* const entry = mounts.At(path);
    return entry != nullptr && MayShow(devices, *entry, uuid);
  };
  return shows(record.staging_path) ||
         std::ranges::any_of(record.publications,
                             [&](const auto& publication) { return shows(publication.first); });
}

}  // namespace

absl::StatusOr<std::vector<Leftover>> StageReconciler::Find(pool::Pool* pool) const {
  ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
  ASSIGN_OR_RETURN(std::vector<std::string> ids, state_.VolumeIds());
  std::erase_if(ids, [&](const std::string& id) {
    const auto located = pools_.Locate(id);
    return (located.ok() ? located->pool : nullptr) != pool;
  });
  if (pool != nullptr) {
    // Why it cannot be asked is found out by itself.
    const auto attached = pool->ListOwnDevices();
    for (const VolumeId& id : attached.value_or(std::vector<VolumeId>())) {
      ids.push_back(id.ToString());
    }
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<Leftover> leftovers;
  for (const std::string& id : ids) {
    const auto kind = Classify(id, mounts);
    if (kind.ok() && *kind) leftovers.push_back({**kind, id});
  }
  return leftovers;
}

// What is left over of a volume that has a stage record or a device. Nothing when it is wanted; an
// error when that is unknown: the stage must then be left untouched.
absl::StatusOr<std::optional<LeftoverKind>> StageReconciler::Classify(
    const std::string& volume_id, const MountTable& mounts) const {
  ASSIGN_OR_RETURN(const state::StageState state, state_.stages.StateOf(volume_id));
  if (state == state::StageState::kOtherBoot || state == state::StageState::kDamaged) {
    return LeftoverKind::kVoidStageRecord;
  }
  ASSIGN_OR_RETURN(const auto located, pools_.Locate(volume_id));
  auto device = located.pool->FindDevice(located.id);
  const bool gone = absl::IsNotFound(device.status());
  if (!gone) RETURN_IF_ERROR(device.status());
  if (!gone && *device && IsMounted(mounts, **device)) {
    const auto record = state_.stages.Find(volume_id);
    if (record.ok() && (record->growing || record->freezing))
      return LeftoverKind::kInterruptedGrowth;
    return std::nullopt;
  }
  if (state == state::StageState::kNone) {
    if (gone) {
      const bool undo = state_.undo.Has(located.id);
      return undo ? std::optional(LeftoverKind::kStaleStaging) : std::nullopt;
    }
    if (*device) return LeftoverKind::kOrphanedDevice;
    // Deleted by another node.
    const bool void_undo =
        state_.undo.Has(located.id) && absl::IsNotFound(located.pool->Get(located.id).status());
    return void_undo ? std::optional(LeftoverKind::kStaleStaging) : std::nullopt;
  }
  ASSIGN_OR_RETURN(const state::StageRecord record, state_.stages.Find(volume_id));
  if (ShowsAnything(pools_.devices(), mounts, record, located.id.uuid)) return std::nullopt;
  if (!gone && *device) {
    // A raw block volume is staged without a mount.
    ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
    if (volume.access_type == AccessType::kBlock) return std::nullopt;
  }
  return LeftoverKind::kStaleStaging;
}

absl::StatusOr<bool> StageReconciler::Repair(const std::string& volume_id) const {
  ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
  ASSIGN_OR_RETURN(const auto kind, Classify(volume_id, mounts));
  if (!kind) return false;
  if (*kind == LeftoverKind::kInterruptedGrowth) {
    RETURN_IF_ERROR(RepairGrowth(volume_id));
  } else if (*kind == LeftoverKind::kVoidStageRecord) {
    RETURN_IF_ERROR(RepairVoidRecord(volume_id));
  } else {
    RETURN_IF_ERROR(RepairStaging(volume_id));
  }
  return true;
}

// As the end of an Unstage, or of a deletion: first the device, then the record.
absl::Status StageReconciler::RepairStaging(const std::string& volume_id) const {
  ASSIGN_OR_RETURN(const auto located, pools_.Locate(volume_id));
  const absl::Status detached = located.pool->UnmapOwnDevice(located.id);
  if (absl::IsNotFound(detached)) return state_.RemoveAll(volume_id);
  RETURN_IF_ERROR(detached);
  return state_.stages.Remove(volume_id);
}

// Writers of a frozen filesystem wait, so that it is thawed comes first, whatever the growth finds.
absl::Status StageReconciler::RepairGrowth(const std::string& volume_id) const {
  ASSIGN_OR_RETURN(state::StageRecord record, state_.stages.Find(volume_id));
  ASSIGN_OR_RETURN(const auto located, pools_.Locate(volume_id));
  ASSIGN_OR_RETURN(const auto device, located.pool->FindDevice(located.id));
  if (device) RETURN_IF_ERROR(EndOwnFreeze(*device, state_.stages, record));
  return expander_.Expand(volume_id, 0, 0).status();
}

// The reboot removed the device, but not what is recorded of it for other nodes.
absl::Status StageReconciler::GiveBack(const std::string& volume_id) const {
  const auto located = pools_.Locate(volume_id);
  if (!located.ok()) return absl::OkStatus();
  const auto device = located->pool->FindDevice(located->id);
  if (!device.ok() || device->has_value()) return absl::OkStatus();
  return located->pool->UnmapDevice(located->id);
}

absl::Status StageReconciler::RepairVoidRecord(const std::string& volume_id) const {
  ASSIGN_OR_RETURN(const state::StageState state, state_.stages.StateOf(volume_id));
  if (state == state::StageState::kOtherBoot) RETURN_IF_ERROR(GiveBack(volume_id));
  if (state == state::StageState::kDamaged) {
    // It may be the only trace of a raw block volume that is staged.
    ASSIGN_OR_RETURN(const auto located, pools_.Locate(volume_id));
    const auto device = located.pool->FindDevice(located.id);
    if (!absl::IsNotFound(device.status())) {
      RETURN_IF_ERROR(device.status());
      if (*device) {
        return FailedPrecondition("the stage record of volume '{}' is damaged, and {} shows it",
                                  volume_id, (*device)->path);
      }
    }
  }
  return state_.stages.Remove(volume_id);
}

}  // namespace holdfast::node
