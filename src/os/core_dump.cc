// SPDX-License-Identifier: Apache-2.0
#include "os/core_dump.h"

#include <sys/prctl.h>

#include <cerrno>

namespace holdfast::os {

absl::Status ForbidCoreDumps() {
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) return absl::OkStatus();
  return OsError(errno, "cannot forbid core dumps");
}

}  // namespace holdfast::os
