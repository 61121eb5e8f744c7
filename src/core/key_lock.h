// SPDX-License-Identifier: Apache-2.0
// A lock that admits one operation at a time per key (a volume). Callers do not wait for each
// other; they wait only for background work, and only for a short time.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "core/mutex.h"
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

  // How long TryLock waits for a holder in the background.
  static constexpr std::chrono::seconds kPatience{2};

  // Holds `key` until the guard is destroyed. `operation` names the holder, e.g. "NodeStageVolume".
  // ABORTED when the key is held, naming the operation that holds it: the CSI spec asks the CO for
  // one call per volume, and ABORTED makes every caller try again later. At once if another call
  // holds it; after kPatience if it is held in the background, because a CO that made one call at a
  // time must not get two.
  [[nodiscard]] absl::StatusOr<Guard> TryLock(const std::string& key, const std::string& operation);

  // The same for work that no call requested. Nothing when the key is held: calls go first.
  [[nodiscard]] std::optional<Guard> TryLockInBackground(const std::string& key,
                                                         const std::string& operation);

 private:
  struct Holder {
    std::string operation;
    bool background = false;
  };
  void Release(const std::string& key);

  Mutex mutex_;
  CondVar released_;
  std::map<std::string, Holder> held_ ABSL_GUARDED_BY(mutex_);  // by key
};

}  // namespace holdfast
