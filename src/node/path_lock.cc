// SPDX-License-Identifier: Apache-2.0
#include "node/path_lock.h"

namespace holdfast::node {

absl::StatusOr<KeyLock::Guard> LockPath(KeyLock& locks, const os::TargetPath& target) {
  auto lock = locks.TryLock(target.place(), "another call");
  if (!absl::IsAborted(lock.status())) return lock;
  return Aborted("another call is at work at '{}'; try again when that has finished",
                 target.path());
}

}  // namespace holdfast::node
