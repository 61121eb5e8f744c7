// SPDX-License-Identifier: Apache-2.0
#include "os/volume_rights.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "os/capabilities.h"
#include "os/unique_fd.h"

namespace holdfast::os {

absl::Status RequireMountRights() {
  if (HasCapSysAdmin()) return absl::OkStatus();
  return FailedPrecondition(
      "{} lacks CAP_SYS_ADMIN, without which nothing can be mounted: run Holdfast as root; in a "
      "container, make it privileged",
      ::geteuid() == 0 ? "root" : "this user");
}

absl::Status RequireLoopDriver() {
  const UniqueFd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (control.valid()) return absl::OkStatus();
  return FailedPrecondition(
      "/dev/loop-control cannot be opened ({}), without which no volume becomes a device: modprobe "
      "loop; in a container, give it the host's /dev and make it privileged",
      std::strerror(errno));
}

}  // namespace holdfast::os
