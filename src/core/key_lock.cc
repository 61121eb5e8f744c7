// SPDX-License-Identifier: Apache-2.0
#include "core/key_lock.h"

#include <utility>

namespace holdfast {

KeyLock::Guard::Guard(Guard&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), key_(std::move(other.key_)) {}

KeyLock::Guard::~Guard() {
  if (owner_ == nullptr) return;
  owner_->Release(key_);
}

void KeyLock::Release(const std::string& key) {
  const MutexLock lock(mutex_);
  held_.erase(key);
  released_.NotifyAll();
}

absl::StatusOr<KeyLock::Guard> KeyLock::TryLock(const std::string& key,
                                                const std::string& operation) {
  MutexLock lock(mutex_);
  released_.WaitFor(lock, kPatience, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto holder = held_.find(key);
    return holder == held_.end() || !holder->second.background;
  });
  const auto [entry, inserted] = held_.try_emplace(key, Holder{operation, /*background=*/false});
  if (!inserted) {
    return Aborted("volume '{}' is busy with {}; try again when that has finished", key,
                   entry->second.operation);
  }
  return Guard(this, key);
}

std::optional<KeyLock::Guard> KeyLock::TryLockInBackground(const std::string& key,
                                                           const std::string& operation) {
  const MutexLock lock(mutex_);
  if (!held_.try_emplace(key, Holder{operation, /*background=*/true}).second) return std::nullopt;
  return Guard(this, key);
}

}  // namespace holdfast
