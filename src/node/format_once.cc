// SPDX-License-Identifier: Apache-2.0
#include "node/format_once.h"

#include <fcntl.h>

#include "core/log.h"
#include "fs/filesystem.h"
#include "fs/probe.h"

namespace holdfast::node {
namespace {

absl::Status Format(pool::Pool& pool, const Volume& volume, const os::BlockDevice& device) {
  const fs::Filesystem* const filesystem = fs::FindFilesystem(volume.filesystem);
  if (filesystem == nullptr) return Internal("unknown filesystem '{}'", volume.filesystem);
  // Held open over all steps, for what the kernel remembers of it meanwhile.
  ASSIGN_OR_RETURN(const os::UniqueFd open, os::OpenBlockDevice(device, O_RDONLY));
  RETURN_IF_ERROR(fs::RequireBlank(device));
  const std::string uuid = RandomUuid();
  RETURN_IF_ERROR(pool.StartFormatting(volume.id, uuid));
  RETURN_IF_ERROR(filesystem->Make(
      device, fs::FormatOptions{.uuid = uuid,
                                .keep_allocation = volume.provisioning == Provisioning::kThick,
                                .extra = volume.mkfs_options}));
  RETURN_IF_ERROR(fs::RequireFilesystem(device, volume.filesystem, uuid));
  return pool.FinishFormatting(volume.id);
}

// After a mkfs that was cut short only its own traces may be there.
absl::Status RequireOwnTraces(const Volume& volume, const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const fs::ProbeResult found, fs::Probe(device));
  if (found.content == fs::Content::kNothingRecognised) return absl::OkStatus();
  if (found.signature.uuid == volume.filesystem_uuid) return absl::OkStatus();
  return FailedPrecondition(
      "formatting of volume '{}' was interrupted, but {} now holds {} {}: it is left alone",
      volume.id.ToString(), device.path, found.signature.type, found.signature.uuid);
}

}  // namespace

absl::StatusOr<os::BlockDevice> EnsureFormatted(pool::Pool& pool, const Volume& volume,
                                                const os::BlockDevice& device) {
  switch (volume.state) {
    case VolumeState::kFormatted:
      RETURN_IF_ERROR(fs::RequireFilesystem(device, volume.filesystem, volume.filesystem_uuid));
      return device;
    case VolumeState::kReady:
      RETURN_IF_ERROR(Format(pool, volume, device));
      return device;
    case VolumeState::kFormatting: {
      LogInfo("volume {}: formatting was interrupted; starting over", volume.id.ToString());
      RETURN_IF_ERROR(RequireOwnTraces(volume, device));
      RETURN_IF_ERROR(pool.BlankAgain(volume.id));
      ASSIGN_OR_RETURN(const os::BlockDevice blank, pool.Attach(volume.id));
      RETURN_IF_ERROR(Format(pool, volume, blank));
      return blank;
    }
    case VolumeState::kAllocating:
    case VolumeState::kDeleting:
      break;
  }
  return Internal("volume '{}' is {} and cannot be formatted", volume.id.ToString(),
                  ToString(volume.state));
}

}  // namespace holdfast::node
