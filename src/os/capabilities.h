// SPDX-License-Identifier: Apache-2.0
// The capabilities of this process (capabilities(7)).
#pragma once

#include "core/status.h"

namespace holdfast::os {

// Drops every capability that volumes do not need, for the calling thread and everything that it
// starts afterwards, and prevents programs from gaining any (no_new_privs): a privileged container
// has all of them. Never adds one. Call it before other threads exist. INTERNAL if the kernel
// refuses.
[[nodiscard]] absl::Status KeepNeededCapabilities();

// True if the calling thread has CAP_SYS_RESOURCE, which ext4 requires to grow while mounted
// (fs/ext4/ioctl.c, EXT4_IOC_RESIZE_FS).
[[nodiscard]] bool HasCapSysResource();

// True if it has CAP_SYS_ADMIN, without which nothing can be mounted or attached.
[[nodiscard]] bool HasCapSysAdmin();

// FAILED_PRECONDITION, with the remedy, unless this process may mount (CAP_SYS_ADMIN).
[[nodiscard]] absl::Status RequireMountRights();

}  // namespace holdfast::os
