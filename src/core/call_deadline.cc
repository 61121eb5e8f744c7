// SPDX-License-Identifier: Apache-2.0
#include "core/call_deadline.h"

#include <algorithm>

namespace holdfast {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr milliseconds kAnswerTime{500};
// Longer than any call. A deadline further away, such as the one of a call without a deadline,
// would overflow the other clock.
constexpr std::chrono::hours kForever{24};

// By the monotonic clock.
thread_local steady_clock::time_point deadline_of_call = steady_clock::time_point::max();

}  // namespace

CallDeadline::CallDeadline(system_clock::time_point deadline) : outer_(deadline_of_call) {
  const auto now = system_clock::now();
  deadline_of_call = deadline > now + kForever ? steady_clock::time_point::max()
                                               : steady_clock::now() + (deadline - now);
}

CallDeadline::~CallDeadline() { deadline_of_call = outer_; }

bool IsPastCallDeadline() { return steady_clock::now() >= deadline_of_call; }

milliseconds WithinCallDeadline(milliseconds longest) {
  if (deadline_of_call == steady_clock::time_point::max()) return longest;
  const auto left =
      std::chrono::duration_cast<milliseconds>(deadline_of_call - steady_clock::now());
  return std::clamp(left - kAnswerTime, milliseconds(0), longest);
}

}  // namespace holdfast
