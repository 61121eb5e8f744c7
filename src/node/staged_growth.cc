// SPDX-License-Identifier: Apache-2.0
#include "node/staged_growth.h"

#include "os/file.h"
#include "os/freeze.h"
#include "os/mount_table.h"

namespace holdfast::node {
namespace {

// Its record's mark is on disk before the kernel is asked, and stays if the thaw failed.
absl::Status FreezeForAMoment(int root_fd, const state::StageStore& stages,
                              state::StageRecord& record) {
  record.freezing = true;
  RETURN_IF_ERROR(stages.Write(record));
  const absl::Status frozen = os::Freeze(root_fd);
  if (frozen.ok()) RETURN_IF_ERROR(os::Thaw(root_fd));
  record.freezing = false;
  const absl::Status unmarked = stages.Write(record);
  return frozen.ok() ? unmarked : frozen;
}

// The root of the filesystem on the device; invalid if the path does not lead there.
os::UniqueFd OpenIfShows(const std::string& path, const os::BlockDevice& device) {
  auto root = os::OpenDirectory(path);
  if (!root.ok()) return {};
  const auto behind = os::DeviceBehind(root->get(), path);
  return behind.ok() && *behind == device.number ? std::move(*root) : os::UniqueFd();
}

}  // namespace

absl::Status GrowStaged(const fs::Filesystem& filesystem, const os::BlockDevice& device,
                        const std::string& mount_path, const state::StageStore& stages,
                        state::StageRecord& record) {
  RETURN_IF_ERROR(EndOwnFreeze(device, stages, record));
  record.growing = true;
  RETURN_IF_ERROR(stages.Write(record));
  bool refused = false;
  const absl::Status grown = filesystem.Grow(device, mount_path, [&](int root_fd) {
    const absl::Status flushed =
        Annotate(FreezeForAMoment(root_fd, stages, record),
                 fmt::format("the filesystem at '{}' cannot be grown now", mount_path));
    refused = absl::IsFailedPrecondition(flushed);
    return flushed;
  });
  if (record.freezing) return grown;  // the thaw failed; the next call tries it again
  const bool unfinished = !grown.ok() && !filesystem.CanGrow(device, mount_path).value_or(true);
  record.growing = refused || unfinished || absl::IsUnavailable(grown);
  const absl::Status unmarked = stages.Write(record);
  return grown.ok() ? unmarked : grown;
}

absl::Status EndOwnFreeze(const os::BlockDevice& device, const state::StageStore& stages,
                          state::StageRecord& record) {
  if (!record.freezing) return absl::OkStatus();
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  for (const os::MountEntry* const entry : mounts.OfDevice(device.number)) {
    const os::UniqueFd root = OpenIfShows(entry->target, device);
    if (!root.valid()) continue;
    RETURN_IF_ERROR(
        Annotate(os::Thaw(root.get()), fmt::format("the filesystem at '{}'", entry->target)));
    record.freezing = false;
    return stages.Write(record);
  }
  return FailedPrecondition("{} may be frozen, and is not seen mounted anywhere", device.path);
}

}  // namespace holdfast::node
