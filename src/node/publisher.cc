// SPDX-License-Identifier: Apache-2.0
#include "node/publisher.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>

#include "core/log.h"
#include "node/mount_teardown.h"
#include "node/target_paths.h"
#include "os/mount_table.h"
#include "os/mounter.h"

namespace holdfast::node {
namespace {

using os::BlockDevice;
using os::MountEntry;
using os::MountTable;
using os::RequestPath;

std::string NodeName(const BlockDevice& device) {
  return device.path.substr(device.path.rfind('/') + 1);
}

bool Shows(const MountEntry& entry, const BlockDevice& device, AccessType access_type) {
  return access_type == AccessType::kBlock ? entry.root.ends_with("/" + NodeName(device))
                                           : entry.device == device.number;
}

// The same only from stat(2), whose cost does not grow with the host's mounts. False also
// when in doubt.
bool IsShownBy(const os::UniqueFd& handle, const std::string& path, const BlockDevice& device,
               AccessType access_type) {
  if (access_type == AccessType::kMount) {
    const auto behind = os::DeviceBehind(handle.get(), path);
    return behind.ok() && *behind == device.number;
  }
  struct stat node {};
  return ::fstat(handle.get(), &node) == 0 && S_ISBLK(node.st_mode) &&
         node.st_rdev == device.number;
}

bool IsShownAt(const RequestPath& target, const BlockDevice& device, AccessType access_type) {
  if (target.HasNoMount()) return false;
  const auto handle = target.OpenHandle();
  return handle.ok() && IsShownBy(*handle, target.path(), device, access_type);
}

// What is bound at the target: the staged filesystem, or the device's node. Held open from the
// check to the bind.
absl::StatusOr<os::UniqueFd> OpenSource(const std::string& volume_id,
                                        const std::optional<BlockDevice>& device,
                                        const RequestPath& staging, AccessType access_type) {
  const absl::Status not_staged =
      FailedPrecondition("volume '{}' is not staged at '{}'", volume_id, staging.path());
  if (!device) return not_staged;
  if (access_type == AccessType::kBlock) return os::OpenBlockDevice(*device, O_PATH);
  if (staging.HasNoMount()) return not_staged;
  auto handle = staging.OpenHandle();
  if (handle.ok() && IsShownBy(*handle, staging.path(), *device, access_type)) return handle;
  return not_staged;
}

// Targets other than `target`: those in the record that are really mounted, and those that show the
// raw device without being recorded, because a kill came between the bind and the record.
std::vector<std::string> OtherTargets(const state::StageRecord& record, const MountTable& mounts,
                                      const std::string& target, const BlockDevice& device,
                                      AccessType access_type) {
  std::vector<std::string> others;
  for (const auto& [path, publication] : record.publications) {
    if (path != target && mounts.At(path) != nullptr) others.push_back(path);
  }
  if (access_type != AccessType::kBlock) return others;
  for (const MountEntry* const entry : mounts.OfDeviceNode(NodeName(device))) {
    const std::string& path = entry->target;
    if (path != target && !record.publications.contains(path)) others.push_back(path);
  }
  return others;
}

// Each publication holds the others to its own mode: an exclusive one stays exclusive.
absl::Status RequireRoomForAnother(const state::StageRecord& record, AccessMode wanted,
                                   const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    const auto recorded = record.publications.find(other);
    if (recorded == record.publications.end()) continue;
    const AccessMode present = recorded->second.access_mode;
    for (const AccessMode mode : {wanted, present}) {
      const bool alone = SharingOf(mode) == Sharing::kAlone;
      if (!alone || mode == AccessMode::kSingleNodeMultiWriter) continue;
      return FailedPrecondition(
          "already published at '{}', and access mode {} allows one publication", other,
          ToString(mode));
    }
  }
  return absl::OkStatus();
}

// Whether the target already shows the volume. ALREADY_EXISTS if it shows something else, or not as
// asked for. For a publication that is not recorded, only the mount of a filesystem shows its mode.
absl::StatusOr<bool> IsBound(const MountTable& mounts, const state::StageRecord& record,
                             const RequestPath& target, const BlockDevice& device,
                             AccessType access_type, const state::Publication& wanted) {
  const MountEntry* const entry = mounts.At(target.path());
  if (entry == nullptr) return false;
  if (!Shows(*entry, device, access_type)) {
    return AlreadyExists("'{}' is mounted at '{}'", entry->source, target.path());
  }
  const auto known = record.publications.find(target.path());
  const bool same = known != record.publications.end()
                        ? known->second.IsLike(wanted)
                        : access_type == AccessType::kBlock || entry->read_only == wanted.read_only;
  if (same) return true;
  return AlreadyExists("already published at '{}' with another access mode, flags or readonly",
                       target.path());
}

// A raw device is read-only as a whole or not at all (see os::SetReadOnly).
absl::Status SetDeviceMode(const BlockDevice& device, bool read_only,
                           const std::vector<std::string>& others) {
  if (device.read_only == read_only) return absl::OkStatus();
  if (!others.empty()) {
    return FailedPrecondition(
        "already published {} at '{}': a raw block volume is one or the other",
        read_only ? "read-write" : "read-only", others.front());
  }
  return os::SetReadOnly(device, read_only);
}

absl::Status BindAt(const os::UniqueFd& source, const std::string& name, const RequestPath& target,
                    AccessType access_type, const state::Publication& publication) {
  const bool block = access_type == AccessType::kBlock;
  RETURN_IF_ERROR(block ? target.MakeFile() : target.MakeDirectory());
  // Flags of a filesystem volume were given at stage; only per-mount ones matter here.
  const absl::Status bound =
      os::BindMount(source, name, target, publication.read_only && !block, publication.mount_flags);
  if (bound.ok()) return bound;
  const absl::Status removed = target.RemoveIfEmpty();
  if (!removed.ok()) LogWarning("after a failed publish: {}", MessageOf(removed));
  return bound;
}

}  // namespace

absl::Status Publisher::Publish(const PublishRequest& request) const {
  ASSIGN_OR_RETURN(const auto located, pools_.LocateAs(request.volume_id, request.secrets,
                                                       pool::Credentials::kOptional));
  RETURN_IF_ERROR(RequireReach(request.use, !located.pool->info().node.empty(),
                               absl::StatusCode::kFailedPrecondition));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  RETURN_IF_ERROR(RequireSuitable(volume, request.use));
  ASSIGN_OR_RETURN(const RequestPath target, OpenPath(request.target_path, "target_path"));
  ASSIGN_OR_RETURN(const auto path_lock, LockPath(path_locks_, target));
  ASSIGN_OR_RETURN(const RequestPath staging,
                   OpenPath(request.staging_path, "staging_target_path"));
  ASSIGN_OR_RETURN(const auto device, located.pool->FindDevice(located.id));
  const bool block = volume.access_type == AccessType::kBlock;
  ASSIGN_OR_RETURN(const os::UniqueFd source,
                   OpenSource(request.volume_id, device, staging, volume.access_type));
  auto record = stages_.Find(request.volume_id);
  if (!record.ok()) {
    record = state::StageRecord{.volume_id = request.volume_id,
                                .staging_path = staging.path(),
                                .access_mode = request.use.access_mode,
                                .mount_flags = request.use.mount_flags,
                                .growing = false,
                                .publications = {}};
  }
  const state::Publication wanted{.access_mode = request.use.access_mode,
                                  .read_only = request.read_only || IsReadOnly(request.use),
                                  .mount_flags = request.use.mount_flags,
                                  .pod = request.pod};
  if (IsReaderOnly(record->access_mode) && !wanted.read_only) {
    return FailedPrecondition("volume '{}' is staged with access mode {}, which allows no writing",
                              request.volume_id, ToString(record->access_mode));
  }
  const auto known = record->publications.find(target.path());
  if (known != record->publications.end() && known->second.IsLike(wanted) &&
      IsShownAt(target, *device, volume.access_type)) {
    return absl::OkStatus();
  }
  // The first publication of a filesystem finds nothing in the table, so it does not read it.
  const bool first = !block && record->publications.empty() && target.HasNoMount();
  ASSIGN_OR_RETURN(const MountTable mounts, first ? MountTable() : MountTable::Read());
  ASSIGN_OR_RETURN(const bool bound,
                   IsBound(mounts, *record, target, *device, volume.access_type, wanted));
  if (bound && known != record->publications.end()) return absl::OkStatus();
  const std::vector<std::string> others =
      OtherTargets(*record, mounts, target.path(), *device, volume.access_type);
  RETURN_IF_ERROR(RequireRoomForAnother(*record, wanted.access_mode, others));
  if (block) RETURN_IF_ERROR(SetDeviceMode(*device, wanted.read_only, others));
  if (!bound) {
    RETURN_IF_ERROR(
        BindAt(source, block ? device->path : staging.path(), target, volume.access_type, wanted));
  }
  record->publications.insert_or_assign(target.path(), wanted);
  const absl::Status written = stages_.Write(*record);
  if (written.ok()) return written;
  RETURN_IF_ERROR(
      UnmountVolume(target, TeardownOf(pools_, stages_, request.volume_id, target.path()))
          .status());
  RETURN_IF_ERROR(target.RemoveIfEmpty());
  return written;
}

absl::Status Publisher::Unpublish(const std::string& volume_id,
                                  const std::string& target_path) const {
  const auto target = RequestPath::Open(target_path, "target_path");
  if (absl::IsNotFound(target.status())) return absl::OkStatus();
  RETURN_IF_ERROR(target.status());
  ASSIGN_OR_RETURN(const auto path_lock, LockPath(path_locks_, *target));
  ASSIGN_OR_RETURN(const bool free,
                   UnmountVolume(*target, TeardownOf(pools_, stages_, volume_id, target->path())));
  if (free) RETURN_IF_ERROR(target->RemoveIfEmpty());
  auto record = stages_.Find(volume_id);
  if (!record.ok() || record->publications.erase(target->path()) == 0) return absl::OkStatus();
  // Only what is mounted counts as published, so a pod need not wait for the record.
  const absl::Status written = stages_.Write(*record);
  if (!written.ok()) LogWarning("unpublish of '{}': {}", target_path, MessageOf(written));
  return absl::OkStatus();
}

}  // namespace holdfast::node
