// SPDX-License-Identifier: Apache-2.0
#include "core/key_lock.h"

#include <utility>

namespace holdfast {

KeyLock::Guard::Guard(Guard&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), key_(std::move(other.key_)) {}

KeyLock::Guard::~Guard() {
  if (owner_ == nullptr) return;
  const std::lock_guard lock(owner_->mutex_);
  owner_->held_.erase(key_);
}

absl::StatusOr<KeyLock::Guard> KeyLock::TryLock(const std::string& key,
                                                const std::string& operation) {
  const std::lock_guard lock(mutex_);
  const auto [entry, inserted] = held_.try_emplace(key, operation);
  if (!inserted) {
    return Aborted("volume '{}' is busy with {}; try again when that has finished", key,
                   entry->second);
  }
  return Guard(this, key);
}

}  // namespace holdfast
