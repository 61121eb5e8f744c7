// SPDX-License-Identifier: Apache-2.0
// Trims the thin filesystem volumes that are staged here, one after another, once per interval
// (docs/neighbours.md).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "core/key_lock.h"
#include "core/long_work.h"
#include "core/mutex.h"
#include "node/volume_trim.h"
#include "pool/pools.h"
#include "state/node_state.h"

namespace holdfast::server {

// Thread-safe. Keeps nothing on disk: a kill leaves nothing, and the successor begins anew.
class Trimmer final {
 public:
  // A step that takes longer hangs: the volume's pool is left until the step ends.
  static constexpr std::chrono::seconds kPatience{30};

  struct Figures {
    std::uint64_t trimmed_bytes = 0;  // as os::TrimFreeSpace counts them
    std::uint64_t done = 0;           // trims of whole volumes
    std::uint64_t failed = 0;
    std::uint64_t put_off = 0;  // steps that waited because a call had the volume
    std::uint64_t rounds = 0;
    std::optional<std::chrono::system_clock::time_point> last_round{};  // when it ended
  };

  // All three outlive it.
  Trimmer(const pool::Pools& pools, const state::NodeState& state, KeyLock& volume_locks)
      : pools_(pools), state_(state), volume_locks_(volume_locks) {}
  Trimmer(const Trimmer&) = delete;
  Trimmer& operator=(const Trimmer&) = delete;
  ~Trimmer() { Stop(); }

  // A round begins once per interval, or when the one before it has ended, if that is later. The
  // first one begins at a random time within the first interval, so that the nodes of a cluster do
  // not begin together, and a node that restarts often trims sometimes. Once.
  void Start(std::chrono::milliseconds interval);
  // Ends after the step that is under way, however long it takes.
  void Stop();

  [[nodiscard]] bool is_on() const { return is_on_; }
  [[nodiscard]] Figures figures() const;
  // Names of the pools on whose volumes a step is under way.
  [[nodiscard]] std::set<std::string> BusyPools() const;

 private:
  struct Piece;

  void Run(std::chrono::milliseconds interval);
  void Round();
  void TrimOne(const std::string& volume_id);
  absl::StatusOr<Bytes> TrimInSteps(const std::string& volume_id, const std::string& pool);
  // One look or step on a thread of its own, which may hang.
  absl::Status RunPiece(const std::string& pool, const std::shared_ptr<Piece>& piece);
  void WorkOn(Piece& piece);
  void Count(Bytes trimmed);
  void CountVolume(bool done);
  // False when it is to stop.
  bool Rest(std::chrono::steady_clock::duration time);

  const pool::Pools& pools_;
  const state::NodeState& state_;
  KeyLock& volume_locks_;
  std::atomic<bool> is_on_{false};

  mutable Mutex mutex_;
  CondVar stopped_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Figures figures_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
  LongWork work_{kPatience};  // by the name of the pool
};

}  // namespace holdfast::server
