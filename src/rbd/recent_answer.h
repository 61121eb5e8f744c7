// SPDX-License-Identifier: Apache-2.0
// A cache of one monitor answer for a few seconds: many calls need it, and neither have all of them
// to ask, nor to wait for monitors that do not answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/call_deadline.h"
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
    std::unique_lock lock(mutex_);
    const auto is_known = [&] { return !asking_ || !last_.ok(); };
    if (!told_.wait_for(lock, WithinCallDeadline(kStepTime), is_known)) {
      return Unavailable("the Ceph cluster's monitors have not answered another call yet");
    }
    if (asking_ || Clock::now() < good_until_) return last_;
    asking_ = true;
    lock.unlock();
    absl::StatusOr<Answer> answer = ask();
    lock.lock();
    asking_ = false;
    last_ = answer;
    good_until_ = Clock::now() + kAnswerLife;
    told_.notify_all();
    return answer;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  std::condition_variable told_;
  bool asking_ = false;                    // guarded by mutex_
  absl::StatusOr<Answer> last_{Answer()};  // guarded by mutex_
  Clock::time_point good_until_{};         // of last_; guarded by mutex_
};

}  // namespace holdfast::rbd
