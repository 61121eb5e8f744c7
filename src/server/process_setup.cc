// SPDX-License-Identifier: Apache-2.0
#include "server/process_setup.h"

#include <absl/synchronization/mutex.h>
#include <malloc.h>
#include <sys/stat.h>

#include <csignal>

#include "os/capabilities.h"
#include "os/process_limits.h"
#include "server/grpc_log.h"

namespace holdfast::server {

absl::Status SetUpProcess() {
  std::signal(SIGPIPE, SIG_IGN);  // a CO that hangs up must not end the process
  RETURN_IF_ERROR(os::KeepNeededCapabilities());
  RETURN_IF_ERROR(os::ForbidCoreDumps());
  RouteGrpcLog();
  // Few large arenas instead of one per thread: calls come and go on many threads.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // fixed: it would grow with the largest buffer
  // Debian's build looks at every lock for cycles, which is for finding mistakes, not for serving.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::umask(0077);
  return absl::OkStatus();
}

}  // namespace holdfast::server
