// SPDX-License-Identifier: Apache-2.0
#include "core/semaphore.h"

#include <algorithm>
#include <iterator>

namespace holdfast {

Semaphore::Permit Semaphore::Acquire(std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  MutexLock lock(mutex_);
  while (true) {
    const auto now = Clock::now();
    const auto hanging = taken_.lower_bound(now - patience_);
    if (static_cast<std::size_t>(std::distance(hanging, taken_.end())) < count_) {
      taken_.insert(now);
      return Permit(this, Release{now});
    }
    if (now >= end) return nullptr;
    freed_.WaitUntil(lock, std::min(end, *hanging + patience_));
  }
}

void Semaphore::Give(Clock::time_point taken) {
  {
    const MutexLock lock(mutex_);
    taken_.erase(taken_.find(taken));
  }
  freed_.NotifyOne();
}

}  // namespace holdfast
