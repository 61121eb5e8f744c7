// SPDX-License-Identifier: Apache-2.0
// What the kernel and the rights of this process allow, and which filesystems this host can make,
// mount and grow. Nothing on the host is changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"

namespace holdfast::cli {

// CAP_SYS_ADMIN and CAP_SYS_RESOURCE (capabilities(7)).
[[nodiscard]] Finding CheckMountRights();
[[nodiscard]] Finding CheckGrowthRights();

// `release` is uname(2)'s: "6.1.0-18-amd64". Linux 5.12 has mount_setattr(2).
[[nodiscard]] Finding CheckKernel(std::string_view release);
[[nodiscard]] std::string KernelRelease();

// Whether mounts below /var/lib/kubelet reach other mount name spaces; OK where there is no
// kubelet.
[[nodiscard]] Finding CheckKubeletPropagation();

// One finding for the kernel and one for the programs of `filesystem`. What is not there is missing
// if it is `needed` (the default of a pool), a warning otherwise.
[[nodiscard]] std::vector<Finding> CheckFilesystem(const std::string& filesystem, bool needed,
                                                   const std::string& kernel_release);

}  // namespace holdfast::cli
