// SPDX-License-Identifier: Apache-2.0
// Ends a freeze (os/freeze.h) in time, whatever becomes of the process that froze: applications
// wait for it without any limit of their own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::os {

// A child process that thaws the filesystem of an open directory when this process has ended, or
// has not called Release in time. It survives this process. Not thread-safe.
class ThawGuard final {
 public:
  // Before the freeze. `limit` begins now. UNAVAILABLE when no process can be started.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ThawGuard>> Start(
      int directory_fd, std::chrono::milliseconds limit);
  ThawGuard(const ThawGuard&) = delete;
  ThawGuard& operator=(const ThawGuard&) = delete;
  ~ThawGuard();  // releases it

  // The caller has thawed, or never froze. False if the child has thawed before, or may have: the
  // filesystem was not frozen all the time. Once.
  [[nodiscard]] bool Release();

 private:
  ThawGuard(pid_t child, UniqueFd pipe) : child_(child), pipe_(std::move(pipe)) {}

  pid_t child_;  // -1: released
  UniqueFd pipe_;
};

}  // namespace holdfast::os
