// SPDX-License-Identifier: Apache-2.0
#include "node/format_once.h"

#include <fcntl.h>

#include <algorithm>

#include "core/log.h"
#include "fs/filesystem.h"
#include "fs/probe.h"

namespace holdfast::node {
namespace {

absl::Status Format(pool::Pool& pool, const Volume& volume, const os::BlockDevice& device) {
  const fs::Filesystem* const filesystem = fs::FindFilesystem(volume.filesystem);
  if (filesystem == nullptr) return Internal("unknown filesystem '{}'", volume.filesystem);
  // Held open over all steps, so that the kernel keeps its state of the device.
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

// The bytes show that formatting was finished, so only the record is old: a kill came just before
// it was written, or it was restored from a backup. What is there is kept.
absl::StatusOr<FormattedDevice> BringRecordForward(pool::Pool& pool, const Volume& volume,
                                                   const os::BlockDevice& device,
                                                   const std::string& uuid) {
  RETURN_IF_ERROR(
      Annotate(fs::RequireFilesystem(device, volume.filesystem, uuid),
               fmt::format("the record of volume '{}' says {}, but its bytes were in use",
                           volume.id.ToString(), ToString(volume.state))));
  LogWarning(
      "volume {}: its record says {}, which is older than its bytes: they hold a finished {} with "
      "UUID {}; the record is brought up to date and nothing is formatted",
      volume.id.ToString(), ToString(volume.state), volume.filesystem, uuid);
  if (volume.state != VolumeState::kFormatting || volume.filesystem_uuid != uuid) {
    RETURN_IF_ERROR(pool.StartFormatting(volume.id, uuid));
  }
  RETURN_IF_ERROR(pool.FinishFormatting(volume.id));
  return FormattedDevice{.device = device, .is_new = false};
}

absl::StatusOr<FormattedDevice> FormatFirst(pool::Pool& pool, const Volume& volume,
                                            const os::BlockDevice& device) {
  const absl::Status formatted = Format(pool, volume, device);
  if (absl::IsFailedPrecondition(formatted)) {
    ASSIGN_OR_RETURN(const std::string uuid, pool.FormattedUuid(volume.id));
    if (!uuid.empty()) return BringRecordForward(pool, volume, device, uuid);
  }
  RETURN_IF_ERROR(formatted);
  return FormattedDevice{.device = device, .is_new = true};
}

// Whether the bytes are those of a finished filesystem rather than of an interrupted mkfs, which
// does not touch its own traces.
absl::StatusOr<bool> WasUsed(const Volume& volume, const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const fs::ProbeResult found, fs::Probe(device));
  if (found.content == fs::Content::kNothingRecognised) return false;
  if (found.signature.uuid == volume.filesystem_uuid) {
    const fs::Filesystem* const filesystem = fs::FindFilesystem(found.signature.type);
    if (filesystem == nullptr) return true;
    ASSIGN_OR_RETURN(const bool unused, filesystem->IsOfMkfsAlone(device));
    return !unused;
  }
  return FailedPrecondition(
      "formatting of volume '{}' was interrupted, but {} now holds {} {}: it is left alone; if "
      "that was in use, its record is older than its bytes: see 'A record that is older than its "
      "image' in docs/operations.md",
      volume.id.ToString(), device.path, found.signature.type, found.signature.uuid);
}

absl::StatusOr<FormattedDevice> FormatAgain(pool::Pool& pool, const Volume& volume,
                                            const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const std::string noted, pool.FormattedUuid(volume.id));
  if (!noted.empty()) return BringRecordForward(pool, volume, device, noted);
  ASSIGN_OR_RETURN(const bool used, WasUsed(volume, device));
  if (used) return BringRecordForward(pool, volume, device, volume.filesystem_uuid);
  LogInfo("volume {}: formatting was interrupted; starting over", volume.id.ToString());
  RETURN_IF_ERROR(pool.ZeroVolume(volume.id));
  ASSIGN_OR_RETURN(const os::BlockDevice blank,
                   pool.MapDevice(volume.id, AccessMode::kSingleNodeWriter));
  RETURN_IF_ERROR(Format(pool, volume, blank));
  return FormattedDevice{.device = blank, .is_new = true};
}

// The device must show the UUID of the copy's origin, or already the new one after a kill.
absl::Status RequireCopied(const Volume& volume, const os::BlockDevice& device) {
  std::vector<std::string> known = volume.inherited_uuids;
  known.push_back(volume.filesystem_uuid);
  const auto is_there = [&](const std::string& uuid) {
    return fs::RequireFilesystem(device, volume.filesystem, uuid).ok();
  };
  if (std::ranges::any_of(known, is_there)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const fs::ProbeResult found, fs::Probe(device));
  const bool recognised = found.content != fs::Content::kNothingRecognised;
  return FailedPrecondition(
      "volume '{}' is a copy and must hold the {} of its source, but {} holds {}: it is left "
      "alone; delete the volume and restore it again",
      volume.id.ToString(), volume.filesystem, device.path,
      recognised ? fmt::format("{} {}", found.signature.type, found.signature.uuid)
                 : "nothing that is recognised");
}

// A copied filesystem gets the recorded UUID before its first mount, so that it can be mounted
// beside its origin.
absl::StatusOr<FormattedDevice> AdoptFilesystem(pool::Pool& pool, const Volume& volume,
                                                const os::BlockDevice& device,
                                                const std::string& undo_path) {
  const fs::Filesystem* const filesystem = fs::FindFilesystem(volume.filesystem);
  if (filesystem == nullptr) return Internal("unknown filesystem '{}'", volume.filesystem);
  // Never held open over these steps: the page cache of an open device would keep what was read of
  // it, while mounted xfs and btrfs write past that, and their programs would then work on old
  // bytes.
  RETURN_IF_ERROR(filesystem->UndoInterrupted(device, undo_path));
  RETURN_IF_ERROR(RequireCopied(volume, device));
  RETURN_IF_ERROR(filesystem->ChangeUuid(device, volume.filesystem_uuid, undo_path));
  RETURN_IF_ERROR(fs::RequireFilesystem(device, volume.filesystem, volume.filesystem_uuid));
  RETURN_IF_ERROR(pool.FinishAdoption(volume.id));
  return FormattedDevice{.device = device, .is_new = false};
}

}  // namespace

absl::StatusOr<FormattedDevice> EnsureFormatted(pool::Pool& pool, const Volume& volume,
                                                const os::BlockDevice& device,
                                                const std::string& undo_path) {
  switch (volume.state) {
    case VolumeState::kFormatted:
      RETURN_IF_ERROR(fs::RequireFilesystem(device, volume.filesystem, volume.filesystem_uuid));
      return FormattedDevice{.device = device, .is_new = false};
    case VolumeState::kReady:
      return FormatFirst(pool, volume, device);
    case VolumeState::kFormatting:
      return FormatAgain(pool, volume, device);
    case VolumeState::kInherited:
      return AdoptFilesystem(pool, volume, device, undo_path);
    case VolumeState::kAllocating:
    case VolumeState::kCopying:
    case VolumeState::kCut:
    case VolumeState::kDeleting:
    case VolumeState::kTrashed:
      break;
  }
  return Internal("volume '{}' is {} and cannot be formatted", volume.id.ToString(),
                  ToString(volume.state));
}

}  // namespace holdfast::node
