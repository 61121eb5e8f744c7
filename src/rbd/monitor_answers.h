// SPDX-License-Identifier: Apache-2.0
// What a cluster's monitors say of pools, of clients and of themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/call_deadline.h"
#include "core/mutex.h"
#include "core/status.h"
#include "rbd/ceph_pool.h"
#include "rbd/cluster.h"

namespace holdfast::rbd {

// How long an answer is used: the monitors' own figures are no younger.
inline constexpr std::chrono::seconds kAnswerLife{5};

// A cache of one monitor answer for a few seconds: many calls need it, and neither have all of them
// to ask, nor to wait for monitors that do not answer. Thread-safe. One caller asks at a time.
template <typename Answer>
class RecentAnswer final {
 public:
  // The answer or failure of the last kAnswerLife, or that of `ask`, which returns an
  // absl::StatusOr<Answer>. While another caller asks: the last failure, if that is what was last
  // heard, and else what the other one hears; UNAVAILABLE if that takes longer than a step may.
  template <typename Ask>
  [[nodiscard]] absl::StatusOr<Answer> Get(const Ask& ask) {
    MutexLock lock(mutex_);
    const auto is_known = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !asking_ || !last_.ok();
    };
    if (!told_.WaitFor(lock, WithinCallDeadline(kStepTime), is_known)) {
      return Unavailable("the Ceph cluster's monitors have not answered another call yet");
    }
    if (asking_ || Clock::now() < good_until_) return last_;
    asking_ = true;
    lock.Unlock();
    absl::StatusOr<Answer> answer = ask();
    lock.Lock();
    asking_ = false;
    last_ = answer;
    good_until_ = Clock::now() + kAnswerLife;
    told_.NotifyAll();
    return answer;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Mutex mutex_;
  CondVar told_;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  absl::StatusOr<Answer> last_ ABSL_GUARDED_BY(mutex_){Answer()};
  Clock::time_point good_until_ ABSL_GUARDED_BY(mutex_){};  // of last_
};

struct PoolStatistics {
  Bytes stored = 0;  // by everybody, without replicas
  // That could still be stored: replication, the fullest disk and a quota of bytes count. A quota
  // of objects does not: how many objects a volume will have is unknown.
  Bytes available = 0;
};

// Of the pool that `name` names. Nothing when the cluster has no statistics, because no manager
// (ceph-mgr) runs.
[[nodiscard]] absl::StatusOr<std::optional<PoolStatistics>> AskStatistics(Cluster& cluster,
                                                                          const std::string& name);
[[nodiscard]] absl::StatusOr<std::optional<PoolStatistics>> ParseStatistics(
    const std::string& answer, const std::string& name);

// Whether the cluster refuses the client of that address (Ceph's blocklist).
[[nodiscard]] absl::StatusOr<bool> IsFenced(Cluster& cluster, const std::string& address);
[[nodiscard]] absl::StatusOr<bool> ParseFenced(const std::string& answer,
                                               const std::string& address);

// A pool as the monitors' words name it.
struct NamedPool {
  std::int64_t id = -1;
  std::string name;
};

// Why data of these pools may be unavailable, damaged or not writable, in Ceph's words: the names
// and summaries of its health checks that say so and are not muted. Empty if none does. Those are
// the errors, except of services that carry no data of images, and the warnings of which Ceph's
// documentation ("Health checks") says that requests are not served: PG_AVAILABILITY,
// OBJECT_UNFOUND, POOL_FULL, and OSDMAP_FLAGS of a cluster that is full or paused. A check whose
// details name other pools only is theirs.
[[nodiscard]] absl::StatusOr<std::string> AskDataProblem(Cluster& cluster,
                                                         const std::vector<NamedPool>& pools);
[[nodiscard]] absl::StatusOr<std::string> ParseDataProblem(const std::string& answer,
                                                           const std::vector<NamedPool>& pools);

struct MonitorAddresses {
  std::vector<std::string> addresses;  // "10.0.0.1:6789"
  bool messenger_v2 = false;           // no monitor speaks the first protocol
};

// Addresses for the kernel's client, which takes numbers only.
[[nodiscard]] absl::StatusOr<MonitorAddresses> AskMonitorAddresses(Cluster& cluster);
[[nodiscard]] absl::StatusOr<MonitorAddresses> ParseMonitorAddresses(const std::string& answer);

}  // namespace holdfast::rbd
