// SPDX-License-Identifier: Apache-2.0
// An answer of the monitors that is good for some seconds: many calls need it, and they need not
// all ask.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "core/status.h"

namespace holdfast::rbd {

// The monitors' own figures are no younger.
inline constexpr std::chrono::seconds kAnswerLife{5};

// Thread-safe. A failure is not kept: the next call asks again.
template <typename Answer>
class RecentAnswer final {
 public:
  // The answer of the last kAnswerLife, or that of `ask`, which returns an absl::StatusOr<Answer>.
  template <typename Ask>
  [[nodiscard]] absl::StatusOr<Answer> Get(const Ask& ask) {
    const auto now = std::chrono::steady_clock::now();
    {
      const std::lock_guard lock(mutex_);
      if (answer_ && now - asked_at_ < kAnswerLife) return *answer_;
    }
    ASSIGN_OR_RETURN(Answer answer, ask());
    const std::lock_guard lock(mutex_);
    answer_ = answer;
    asked_at_ = now;
    return answer;
  }

 private:
  std::mutex mutex_;
  std::optional<Answer> answer_;                      // guarded by mutex_
  std::chrono::steady_clock::time_point asked_at_{};  // of answer_; guarded by mutex_
};

}  // namespace holdfast::rbd
