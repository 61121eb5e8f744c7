// SPDX-License-Identifier: Apache-2.0
// The deadline of the RPC that the current thread is serving.
//
// It belongs to the thread because only the steps that wait for a remote system need it, many
// layers below the code that receives it.
#pragma once

#include <chrono>

namespace holdfast {

// While this lives, the thread serves a call whose caller waits until `deadline` and no longer.
// Without one, now or in a thread that was started since, no caller waits.
class CallDeadline final {
 public:
  explicit CallDeadline(std::chrono::system_clock::time_point deadline);
  ~CallDeadline();
  CallDeadline(const CallDeadline&) = delete;
  CallDeadline& operator=(const CallDeadline&) = delete;

 private:
  const std::chrono::steady_clock::time_point outer_;
};

// Whether the caller has given up on this thread's call.
[[nodiscard]] bool IsPastCallDeadline();

// How long this thread may wait in one step: `longest`, or the time until the caller gives up, less
// a moment to report why. Never negative.
[[nodiscard]] std::chrono::milliseconds WithinCallDeadline(std::chrono::milliseconds longest);

}  // namespace holdfast
