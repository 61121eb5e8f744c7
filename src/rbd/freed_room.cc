// SPDX-License-Identifier: Apache-2.0
#include "rbd/freed_room.h"

namespace holdfast::rbd {
namespace {

// Object stores report to the manager every few seconds, that to the monitors, and an answer of
// these is used for a while (kAnswerLife).
constexpr std::chrono::seconds kUncounted{20};

}  // namespace

void FreedRoom::Add(Bytes bytes) {
  const MutexLock lock(mutex_);
  freed_.push_back({now_(), bytes});
}

Bytes FreedRoom::Recent() {
  const MutexLock lock(mutex_);
  while (!freed_.empty() && now_() - freed_.front().at > kUncounted) freed_.pop_front();
  Bytes sum = 0;
  for (const Freed& freed : freed_) sum += freed.bytes;
  return sum;
}

}  // namespace holdfast::rbd
