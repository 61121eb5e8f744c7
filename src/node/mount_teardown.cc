// SPDX-License-Identifier: Apache-2.0
#include "node/mount_teardown.h"

#include <sys/sysmacros.h>

#include "os/mounter.h"

namespace holdfast::node {
namespace {

constexpr unsigned kLoopMajor = 7;  // Documentation/admin-guide/devices.txt
constexpr int kMaxLayers = 64;

}  // namespace

bool ShowsVolume(const os::MountEntry& entry) {
  return major(entry.device) == kLoopMajor || entry.root.starts_with("/loop");
}

absl::Status UnmountVolume(const os::TargetPath& target) {
  for (int layer = 0; layer < kMaxLayers; ++layer) {
    if (target.HasNoMount()) return absl::OkStatus();
    const auto device = os::DeviceBehind(target.path());
    if (device.ok() && major(*device) == kLoopMajor) {
      RETURN_IF_ERROR(os::Unmount(target));
      continue;
    }
    ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
    const os::MountEntry* const entry = mounts.At(target.path());
    if (entry == nullptr) return absl::OkStatus();
    if (!ShowsVolume(*entry)) {
      return FailedPrecondition("'{}' is mounted at '{}', which is no volume: it is left alone",
                                entry->source, target.path());
    }
    RETURN_IF_ERROR(os::Unmount(target));
  }
  return Internal("more than {} mounts are stacked at '{}'", kMaxLayers, target.path());
}

}  // namespace holdfast::node
