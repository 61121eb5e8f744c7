// SPDX-License-Identifier: Apache-2.0
// Taking a volume's mounts away by what the kernel shows of the devices behind them: no record,
// pool or image is needed, and nothing is taken away that is not the volume's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "os/device_owner.h"
#include "os/mount_table.h"
#include "os/request_path.h"

namespace holdfast::node {

// What the stage records say of a path.
struct Claims {
  bool own = false;                 // the volume was staged or published there
  std::vector<std::string> others;  // the UUIDs of other volumes that were
};

// Of which volume the mounts at a path are to go.
struct Teardown {
  const os::DeviceOwners& devices;
  std::string uuid;  // empty: of no volume that Holdfast could have made
  // Asked only where the kernel cannot say: a mounted node of a device that was detached behind
  // the driver's back, and whose number may be another device's by now.
  std::function<Claims()> ask_records;
};

// Unmounts every mount stacked at `target` that shows the volume. True when nothing is mounted
// there afterwards; false when the mount there is another volume's, which stays: this one is not
// there. FAILED_PRECONDITION when a mount is busy, when the volume's own is covered by another's,
// or when something that is not a volume is mounted there: that is left untouched.
[[nodiscard]] absl::StatusOr<bool> UnmountVolume(const os::RequestPath& target,
                                                 const Teardown& teardown);

// The same for a staged volume, whose last mount is removed: if its filesystem is frozen, by a
// killed growth or by what ran in a pod, it is thawed first, since that is impossible afterwards.
// FAILED_PRECONDITION, with nothing changed, while the volume is mounted elsewhere too.
[[nodiscard]] absl::StatusOr<bool> UnmountStaged(const os::RequestPath& target,
                                                 const Teardown& teardown);

// Whether this volume is what is seen at the path. False also when in doubt.
[[nodiscard]] bool IsShownAt(const os::DeviceOwners& devices, const os::RequestPath& target,
                             const std::string& uuid);

// Whether the mount shows the volume, or may do so: the node of any device, and what cannot be
// told.
[[nodiscard]] bool MayShow(const os::DeviceOwners& devices, const os::MountEntry& entry,
                           const std::string& uuid);

}  // namespace holdfast::node
