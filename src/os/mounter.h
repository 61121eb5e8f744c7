// SPDX-License-Identifier: Apache-2.0
// Mounts, binds and unmounts. Thread-safe. Needs CAP_SYS_ADMIN and kernel 5.12 (mount_setattr).
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "os/mount_flags.h"
#include "os/request_path.h"

namespace holdfast::os {

struct DeviceMount {
  std::string device;      // block device node
  std::string filesystem;  // required: it is never guessed
  bool read_only = false;
  std::vector<std::string> flags;  // mount options, each checked by ValidateMountFlags
};

// Mounts a filesystem on the directory at `target` through libmount (no fstab, no utab, no mount
// helpers, no path canonicalisation). Never falls back to read-only by itself: a read-write mount
// of a write-protected device fails. INTERNAL with the kernel's reason where it gives one;
// INVALID_ARGUMENT when the filesystem refuses the flags (see AskFilesystemAboutFlags); the errors
// of RequestPath::OpenHandle when there is no directory.
[[nodiscard]] absl::Status MountFilesystem(const DeviceMount& mount, const RequestPath& target);

// Mounts a filesystem where no program sees it and unmounts it again, which replays its log and
// leaves it clean (fsopen, fsmount, kernel 5.2). The flags are not checked. INTERNAL with the
// kernel's reason.
[[nodiscard]] absl::Status MountForAMoment(const DeviceMount& mount);

// Binds `source`, an open directory or device node (O_PATH suffices), on `target` (of the same
// type): the object that was checked is bound, even if its path leads elsewhere by now. `name`
// names the source in errors. A read-only bind is read-only before it becomes visible (open_tree,
// mount_setattr, move_mount). `flags` adds per-mount flags: noexec, nosuid, nodev, noatime,
// nodiratime, relatime, strictatime; others belong to the filesystem and are ignored here.
[[nodiscard]] absl::Status BindMount(const UniqueFd& source, const std::string& name,
                                     const RequestPath& target, bool read_only,
                                     const std::vector<std::string>& flags);

// Unmounts the topmost mount at `target`. OK if there is none, or if `target` does not exist. Never
// lazy, never forced. FAILED_PRECONDITION when it is busy.
[[nodiscard]] absl::Status Unmount(const RequestPath& target);

}  // namespace holdfast::os
