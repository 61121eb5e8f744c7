// SPDX-License-Identifier: Apache-2.0
// How large the steps of a trim are, and how long it rests after each.
#pragma once

#include <chrono>

#include "core/bytes.h"

namespace holdfast::server {

// Not thread-safe. Begins small: nothing is known of the storage yet.
class TrimPace final {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // The part of the time in which it works: one of so many.
  static constexpr int kShare = 10;
  static constexpr std::chrono::milliseconds kShortestRest{5};
  // A call that wants the volume waits this long for a step, or a little longer; a step that took
  // more than that makes the next one smaller.
  static constexpr std::chrono::milliseconds kLongestStep{100};
  static constexpr Bytes kSmallest = 4 * kMiB;
  static constexpr Bytes kLargest = kGiB;

  [[nodiscard]] Bytes step() const { return step_; }

  // The rest after a step that took so long; the next one is of a suitable size.
  [[nodiscard]] Duration RestAfter(Duration took);

 private:
  Bytes step_ = 16 * kMiB;  // a power of two
};

}  // namespace holdfast::server
