// SPDX-License-Identifier: Apache-2.0
// A cache of one monitor answer for a few seconds: many calls need it, and neither have all of them
// to ask, nor to wait for monitors that do not answer.
#pragma once

#include <chrono>

#include "core/call_deadline.h"
#include "core/mutex.h"
#include "core/status.h"
#include "rbd/cluster.h"

namespace holdfast::rbd {

// The monitors' own figures are no younger.
inline constexpr std::chrono::seconds kAnswerLife{5};

// Thread-safe. One caller asks at a time.
template <typename Answer>
class RecentAnswer final {
 public:
  // The answer or failure of the last kAnswerLife, or that of `ask`, which returns an
  // absl::StatusOr<Answer>. While another caller asks: the last failure, if that is what was last
  // heard, and else what the other one hears; UNAVAILABLE if that takes longer than a step may.
  template <typename Ask>
  [[nodiscard]] absl::StatusOr<Answer> Get(const Ask& ask) {
    MutexLock lock(mutex_);
    const auto is_known = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !asking_ || !last_.ok();
    };
    if (!told_.WaitFor(lock, WithinCallDeadline(kStepTime), is_known)) {
      return Unavailable("the Ceph cluster's monitors have not answered another call yet");
    }
    if (asking_ || Clock::now() < good_until_) return last_;
    asking_ = true;
    lock.Unlock();
    absl::StatusOr<Answer> answer = ask();
    lock.Lock();
    asking_ = false;
    last_ = answer;
    good_until_ = Clock::now() + kAnswerLife;
    told_.NotifyAll();
    return answer;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Mutex mutex_;
  CondVar told_;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  absl::StatusOr<Answer> last_ ABSL_GUARDED_BY(mutex_){Answer()};
  Clock::time_point good_until_ ABSL_GUARDED_BY(mutex_){};  // of last_
};

}  // namespace holdfast::rbd
