// SPDX-License-Identifier: Apache-2.0
#include "core/rate_limit.h"

#include <algorithm>
#include <thread>

namespace holdfast {

void RateLimit::Take(Bytes bytes) {
  taken_ += bytes;
  if (per_second_ == 0) return;
  const std::chrono::duration<double> time(static_cast<double>(bytes) /
                                           static_cast<double>(per_second_));
  Clock::time_point begin;
  {
    const MutexLock lock(mutex_);
    begin = std::max(free_at_, Clock::now());
    free_at_ = begin + std::chrono::duration_cast<Clock::duration>(time);
  }
  std::this_thread::sleep_until(begin);
}

}  // namespace holdfast
