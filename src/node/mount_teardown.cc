// SPDX-License-Identifier: Apache-2.0
#include "node/mount_teardown.h"

#include <sys/sysmacros.h>

#include "os/mounter.h"

namespace holdfast::node {
namespace {

constexpr unsigned kLoopMajor = 7;  // Documentation/admin-guide/devices.txt
constexpr int kMaxLayers = 64;

// OK when the topmost mount at `target` may be taken away. Asked of an open handle: nobody can put
// another path under the name meanwhile. It is closed again, because it keeps the mount busy.
absl::Status RequireVolume(const os::TargetPath& target) {
  ASSIGN_OR_RETURN(const os::UniqueFd handle, target.OpenHandle());
  const auto device = os::DeviceBehind(handle.get(), target.path());
  if (device.ok() && major(*device) == kLoopMajor) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int id, os::MountIdOf(handle.get()));
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  const os::MountEntry* const entry = mounts.WithId(id);
  if (entry == nullptr) return Aborted("what is mounted at '{}' is changing", target.path());
  if (ShowsVolume(*entry)) return absl::OkStatus();
  return FailedPrecondition("'{}' is mounted at '{}', which is no volume: it is left alone",
                            entry->source, target.path());
}

}  // namespace

bool ShowsVolume(const os::MountEntry& entry) {
  return major(entry.device) == kLoopMajor || entry.root.starts_with("/loop");
}

absl::Status UnmountVolume(const os::TargetPath& target) {
  for (int layer = 0; layer < kMaxLayers; ++layer) {
    if (target.HasNoMount()) return absl::OkStatus();
    RETURN_IF_ERROR(RequireVolume(target));
    RETURN_IF_ERROR(os::Unmount(target));
  }
  return Internal("more than {} mounts are stacked at '{}'", kMaxLayers, target.path());
}

}  // namespace holdfast::node
