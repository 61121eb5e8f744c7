// SPDX-License-Identifier: Apache-2.0
// One operation at a time per key (a volume), without waiting.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "core/status.h"

namespace holdfast {

// Thread-safe. Guards must not outlive the KeyLock.
class KeyLock final {
 public:
  class [[nodiscard]] Guard final {
   public:
    Guard(Guard&& other) noexcept;
    Guard& operator=(Guard&&) = delete;
    ~Guard();

   private:
    friend class KeyLock;
    Guard(KeyLock* owner, std::string key) : owner_(owner), key_(std::move(key)) {}
    KeyLock* owner_;
    std::string key_;
  };

  // Holds `key` until the guard goes. `operation` says for whom, e.g. "NodeStageVolume".
  // ABORTED at once when the key is held, naming the operation that holds it: the CSI spec asks the
  // CO for one call per volume, and ABORTED makes every caller try again later.
  [[nodiscard]] absl::StatusOr<Guard> TryLock(const std::string& key, const std::string& operation);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> held_;  // key -> operation; guarded by mutex_
};

}  // namespace holdfast
