// SPDX-License-Identifier: Apache-2.0
#include "node/mount_teardown.h"

#include <sys/sysmacros.h>

#include "os/file.h"
#include "os/freeze.h"
#include "os/mounter.h"
#include "os/rbd_device.h"

namespace holdfast::node {
namespace {

constexpr unsigned kLoopMajor = 7;  // Documentation/admin-guide/devices.txt
constexpr int kMaxLayers = 64;

bool IsVolumeDevice(dev_t number) { return major(number) == kLoopMajor || os::IsRbdDevice(number); }

// OK when the topmost mount at `target` may be taken away; `handle` is what is open there: nobody
// can put another path under the name meanwhile.
absl::Status RequireVolume(const os::TargetPath& target, const os::UniqueFd& handle) {
  const auto device = os::DeviceBehind(handle.get(), target.path());
  if (device.ok() && IsVolumeDevice(*device)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int id, os::MountIdOf(handle.get()));
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  const os::MountEntry* const entry = mounts.WithId(id);
  if (entry == nullptr) return Aborted("what is mounted at '{}' is changing", target.path());
  if (ShowsVolume(*entry)) return absl::OkStatus();
  return FailedPrecondition("'{}' is mounted at '{}', which is no volume: it is left alone",
                            entry->source, target.path());
}

// A filesystem that cannot even be opened (its disk has failed) is taken away as it is.
absl::Status ThawBehind(const os::UniqueFd& handle) {
  const auto root = os::OpenDirectoryAt(handle.get(), ".");
  return root.ok() ? os::Thaw(root->get()) : absl::OkStatus();
}

// The handle is closed before the unmount, because it keeps the mount busy.
absl::Status PrepareUnmount(const os::TargetPath& target, bool thaw) {
  ASSIGN_OR_RETURN(const os::UniqueFd handle, target.OpenHandle());
  RETURN_IF_ERROR(RequireVolume(target, handle));
  return thaw ? Annotate(ThawBehind(handle), target.path()) : absl::OkStatus();
}

absl::Status UnmountAll(const os::TargetPath& target, bool thaw) {
  for (int layer = 0; layer < kMaxLayers; ++layer) {
    if (target.HasNoMount()) return absl::OkStatus();
    RETURN_IF_ERROR(PrepareUnmount(target, thaw));
    RETURN_IF_ERROR(os::Unmount(target));
  }
  return Internal("more than {} mounts are stacked at '{}'", kMaxLayers, target.path());
}

}  // namespace

bool ShowsVolume(const os::MountEntry& entry) {
  return IsVolumeDevice(entry.device) || entry.root.starts_with("/loop") ||
         entry.root.starts_with("/rbd");
}

absl::Status UnmountVolume(const os::TargetPath& target) {
  return UnmountAll(target, /*thaw=*/false);
}

absl::Status UnmountStaged(const os::TargetPath& target) {
  return UnmountAll(target, /*thaw=*/true);
}

}  // namespace holdfast::node
