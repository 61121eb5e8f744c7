// SPDX-License-Identifier: Apache-2.0
#include "node/volume_trim.h"

#include <algorithm>

#include "fs/mounted_volumes.h"
#include "os/host_filesystem.h"
#include "os/trim.h"

namespace holdfast::node {
namespace {

// The device up to the end of the step: a multiple of the size, so that steps cover whole block
// groups, which ext4 then remembers as trimmed.
os::BlockDevice PartOf(os::BlockDevice device, Bytes from, Bytes size) {
  device.size = std::min(device.size, AlignDown(from, size) + size);
  return device;
}

}  // namespace

absl::StatusOr<std::optional<TrimCandidate>> FindTrimCandidate(const pool::Pools& pools,
                                                               const std::string& volume_id) {
  ASSIGN_OR_RETURN(const auto located, pools.Locate(volume_id));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  const bool trimmable =
      volume.access_type == AccessType::kMount && volume.provisioning == Provisioning::kThin;
  const fs::Filesystem* const filesystem = fs::FindFilesystem(volume.filesystem);
  if (!trimmable || filesystem == nullptr) return std::nullopt;
  return TrimCandidate{volume_id, located.pool, located.id, filesystem};
}

absl::StatusOr<TrimStep> TrimVolume(const TrimCandidate& volume, const state::StageStore& stages,
                                    Bytes from, Bytes size) {
  ASSIGN_OR_RETURN(const state::StageRecord record, stages.Find(volume.volume_id));
  ASSIGN_OR_RETURN(const auto device, volume.pool->FindDevice(volume.id));
  if (!device) return NotFound("volume '{}' has no device", volume.volume_id);
  ASSIGN_OR_RETURN(const os::UniqueFd root, fs::OpenMountedRoot(*device, record.staging_path));
  ASSIGN_OR_RETURN(const os::FilesystemSpace space, os::MeasureFilesystem(root.get()));
  if (space.read_only) {
    return MakeStatus(absl::StatusCode::kUnimplemented, "it is mounted read-only");
  }
  ASSIGN_OR_RETURN(const auto range,
                   volume.filesystem->NextToTrim(root.get(), PartOf(*device, from, size), from));
  if (!range) return TrimStep{};
  const auto trimmed = os::TrimFreeSpace(root.get(), range->begin, range->end);
  // The filesystem may be smaller than its device, or end in less than a block.
  if (absl::IsOutOfRange(trimmed.status())) return TrimStep{};
  RETURN_IF_ERROR(trimmed.status());
  return TrimStep{.trimmed = *trimmed, .next = range->end};
}

}  // namespace holdfast::node
