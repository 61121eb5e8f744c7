// SPDX-License-Identifier: Apache-2.0
// What this process uses of its host.
#pragma once

#include <cstdint>

#include "core/status.h"

namespace holdfast::os {

struct ProcessUsage {
  double cpu_seconds = 0;  // user and system
  double started_at = 0;   // seconds since 1970; the same at every question
  std::uint64_t resident_bytes = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t threads = 0;
  std::uint64_t open_files = 0;
  std::uint64_t max_open_files = 0;  // RLIMIT_NOFILE
};

// From /proc/self (proc(5)). INTERNAL if that cannot be read. Thread-safe.
[[nodiscard]] absl::StatusOr<ProcessUsage> MeasureProcess();

}  // namespace holdfast::os
