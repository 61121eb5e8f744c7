// SPDX-License-Identifier: Apache-2.0
// What this process is allowed to do (capabilities(7)).
#pragma once

namespace holdfast::os {

// True if the calling thread has CAP_SYS_RESOURCE, which ext4 asks for to grow while mounted
// (fs/ext4/ioctl.c, EXT4_IOC_RESIZE_FS).
[[nodiscard]] bool HasCapSysResource();

// True if it has CAP_SYS_ADMIN, without which nothing can be mounted or attached.
[[nodiscard]] bool HasCapSysAdmin();

}  // namespace holdfast::os
