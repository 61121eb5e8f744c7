// SPDX-License-Identifier: Apache-2.0
#include "core/places.h"

namespace holdfast {

Places::Place Places::Take(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  if (!freed_.wait_for(lock, longest, [this] { return free_ > 0; })) return nullptr;
  --free_;
  return Place(this);
}

void Places::Give() {
  {
    const std::lock_guard lock(mutex_);
    ++free_;
  }
  freed_.notify_one();
}

}  // namespace holdfast
