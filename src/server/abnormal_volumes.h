// SPDX-License-Identifier: Apache-2.0
// How many volumes are abnormal, for metrics: every volume's storage and mounted filesystem is
// looked at.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/long_work.h"
#include "core/mutex.h"
#include "pool/pools.h"

namespace holdfast::server {

// Thread-safe.
class AbnormalVolumes final {
 public:
  // Who asks waits this long for a look, and then gets what the one before it found.
  static constexpr std::chrono::seconds kPatience{2};

  // `pools` outlive it.
  explicit AbnormalVolumes(const pool::Pools& pools) : pools_(pools) {}
  AbnormalVolumes(const AbnormalVolumes&) = delete;
  AbnormalVolumes& operator=(const AbnormalVolumes&) = delete;
  ~AbnormalVolumes() { Stop(); }

  // Those of the pool: looked at again, unless that took more than a hundredth of the time since.
  // Nothing while it is not known, because no look has ended or the pool did not answer.
  [[nodiscard]] std::optional<std::size_t> Count(pool::Pool& pool);

  // Waits for the looks that are under way, however long they take, and begins no more.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Look {
    Clock::time_point ended;
    Clock::duration took{};
  };

  void Refresh(const std::string& key, const std::function<void()>& look);
  void LookAtMounts();
  void LookAt(pool::Pool& pool);
  [[nodiscard]] std::optional<std::size_t> CountIn(pool::Pool& pool) const;

  const pool::Pools& pools_;
  LongWork work_{kPatience};  // by key, as below

  mutable Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Look> looks_ ABSL_GUARDED_BY(mutex_);  // by pool; empty: at the mounts
  std::set<std::string> bad_mounts_ ABSL_GUARDED_BY(mutex_);   // UUIDs of volumes
  std::map<std::string, std::optional<std::size_t>> counts_ ABSL_GUARDED_BY(mutex_);  // by pool
};

}  // namespace holdfast::server
