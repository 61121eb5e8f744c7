// SPDX-License-Identifier: Apache-2.0
#include "server/trim_pace.h"

#include <algorithm>

namespace holdfast::server {

TrimPace::Duration TrimPace::RestAfter(Duration took) {
  if (took > kLongestStep) {
    // By as much as it was too long: the next one may come when a call is waiting.
    for (Duration left = took; left > kLongestStep && step_ > kSmallest; left /= 2) step_ /= 2;
  } else if (took < kLongestStep / 4) {
    step_ = std::min(kLargest, step_ * 2);
  }
  return std::max<Duration>(kShortestRest, (kShare - 1) * took);
}

}  // namespace holdfast::server
