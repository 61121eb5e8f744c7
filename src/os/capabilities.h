// SPDX-License-Identifier: Apache-2.0
// What this process is allowed to do (capabilities(7)).
#pragma once

#include "core/status.h"

namespace holdfast::os {

// Gives up, for the calling thread and all that it starts from here on, every capability but those
// that volumes need, and the right of a program to gain any (no_new_privs): a privileged container
// has all of them. Never adds one. Call it before there are other threads. INTERNAL if the kernel
// refuses.
[[nodiscard]] absl::Status KeepNeededCapabilities();

// True if the calling thread has CAP_SYS_RESOURCE, which ext4 asks for to grow while mounted
// (fs/ext4/ioctl.c, EXT4_IOC_RESIZE_FS).
[[nodiscard]] bool HasCapSysResource();

// True if it has CAP_SYS_ADMIN, without which nothing can be mounted or attached.
[[nodiscard]] bool HasCapSysAdmin();

}  // namespace holdfast::os
