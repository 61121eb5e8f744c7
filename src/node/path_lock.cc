// SPDX-License-Identifier: Apache-2.0
#include "node/path_lock.h"

namespace holdfast::node {

absl::StatusOr<os::RequestPath> OpenPath(const std::string& path, const std::string& field) {
  absl::StatusOr<os::RequestPath> opened = os::RequestPath::Open(path, field);
  if (!absl::IsNotFound(opened.status())) return opened;
  return WithCode(opened.status(), absl::StatusCode::kFailedPrecondition);
}

absl::StatusOr<KeyLock::Guard> LockPath(KeyLock& locks, const os::RequestPath& target) {
  auto lock = locks.TryLock(target.place(), "another call");
  if (!absl::IsAborted(lock.status())) return lock;
  return Aborted("another call is at work at '{}'; try again when that has finished",
                 target.path());
}

}  // namespace holdfast::node
