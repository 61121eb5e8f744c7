// SPDX-License-Identifier: Apache-2.0
#include "os/file_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace holdfast::os {

absl::StatusOr<int> RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return OsError(errno, "read RLIMIT_NOFILE");
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return OsError(errno, "raise RLIMIT_NOFILE");
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

}  // namespace holdfast::os
