// SPDX-License-Identifier: Apache-2.0
#include "node/expander.h"

#include "fs/filesystem.h"
#include "node/staged_growth.h"
#include "os/freeze.h"
#include "os/mount_table.h"

namespace holdfast::node {
namespace {

// Growing needs a writable view of the filesystem; which of its mounts it is does not matter.
absl::StatusOr<std::string> WritableMount(const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  const std::vector<const os::MountEntry*> users = mounts.OfDevice(device.number);
  for (const os::MountEntry* user : users) {
    if (!user->read_only) return user->target;
  }
  if (users.empty()) return FailedPrecondition("{} is not mounted", device.path);
  return FailedPrecondition(
      "{} is mounted read-only at '{}'; it grows when it is next staged "
      "for writing",
      device.path, users.front()->target);
}

}  // namespace

absl::StatusOr<Bytes> Expander::Expand(const std::string& volume_id, Bytes required, Bytes limit,
                                       const Secrets& secrets) const {
  ASSIGN_OR_RETURN(const auto located,
                   pools_.LocateAs(volume_id, secrets, pool::Credentials::kOptional));
  ASSIGN_OR_RETURN(const Volume before, located.pool->Get(located.id));
  ASSIGN_OR_RETURN(const auto attached, located.pool->FindDevice(located.id));
  if (!attached) {
    return FailedPrecondition("volume '{}' is not staged on this node; it grows when it is",
                              volume_id);
  }
  const auto grown = located.pool->Grow(located.id, required, limit);
  if (absl::IsResourceExhausted(grown.status())) {
    return WithCode(grown.status(), absl::StatusCode::kOutOfRange);
  }
  RETURN_IF_ERROR(grown.status());
  if (grown->access_type == AccessType::kBlock) return grown->capacity_bytes;
  ASSIGN_OR_RETURN(const auto now, located.pool->FindDevice(located.id));
  if (!now || now->size < grown->capacity_bytes) {
    return Internal("the device of volume '{}' does not show its {} bytes yet", volume_id,
                    grown->capacity_bytes);
  }
  const os::BlockDevice& device = *now;
  const fs::Filesystem* const filesystem = fs::FindFilesystem(grown->filesystem);
  if (filesystem == nullptr) return Internal("unknown filesystem '{}'", grown->filesystem);
  ASSIGN_OR_RETURN(const std::string mount, WritableMount(device));
  auto record = stages_.Find(volume_id);
  // Without a record (lost, see docs/on-disk.md) there is no place for the mark.
  RETURN_IF_ERROR(record.ok() ? GrowStaged(*filesystem, device, mount, stages_, *record)
                              : filesystem->Grow(device, mount, os::FlushByFreezing));
  return grown->capacity_bytes;
}

}  // namespace holdfast::node
