// SPDX-License-Identifier: Apache-2.0
#include "os/thread_priority.h"

#include <linux/ioprio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace holdfast::os {
namespace {

constexpr int kNice = 10;
constexpr int kLowestLevel = 7;

}  // namespace

void LowerThreadPriority() {
  // For 0, both mean the calling thread. Work goes on without them.
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  (void)::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
                  IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, kLowestLevel));
}

}  // namespace holdfast::os
