// SPDX-License-Identifier: Apache-2.0
// Finds and repairs leftovers of kills, errors and manual changes: right after the start, then
// periodically. docs/adr/0014 lists each kind of leftover and its repair.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/key_lock.h"
#include "core/leftover.h"
#include "core/long_work.h"
#include "core/mutex.h"
#include "node/stage_reconciler.h"
#include "pool/pools.h"
#include "pool/undecided.h"
#include "state/node_state.h"

namespace holdfast::server {

// Has one thread, and another one for each pool while it examines that, so that a pool that hangs
// is skipped until it answers. It searches without locks. To repair a volume it takes the volume's
// lock; it skips volumes that a call is using, and calls wait for it only briefly (KeyLock). After
// each repair it rests as long as the repair took. What takes long, such as giving a copy storage
// of its own, is done in steps, and the next round follows at once. Public functions are
// thread-safe.
class Reconciler final {
 public:
  // Each pause between rounds is random within a fifth of this, so that the nodes of a cluster do
  // not all search at once.
  static constexpr std::chrono::seconds kInterval{30};

  // A pool that takes longer is reported, and the next ones have their turn.
  static constexpr std::chrono::seconds kPatience{10};

  struct OpenLeftover {
    Leftover leftover;
    std::string problem;  // why it could not be ended
    std::string since;    // when it was first seen, RFC 3339
  };

  // All three outlive it.
  Reconciler(const pool::Pools& pools, const state::NodeState& state, KeyLock& volume_locks,
             std::chrono::milliseconds interval = kInterval)
      : pools_(pools), node_(pools, state), volume_locks_(volume_locks), interval_(interval) {}
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;
  ~Reconciler() { Stop(); }

  // Begins with the first round. Once, when the pools are recovered. `ask` is how it finds out
  // about groups whose deciding member is elsewhere, until Stop; null where a controller does that.
  void Start(pool::AskElsewhere ask = nullptr);
  // Begins the next round at once: a call has left work to be done in steps.
  void Wake();
  // Ends after the steps that are under way, however long these take.
  void Stop();

  // Names of the pools that it is looking after.
  [[nodiscard]] std::set<std::string> BusyPools() const;

  // What the last round could not end.
  [[nodiscard]] std::vector<OpenLeftover> Open() const;
  [[nodiscard]] std::uint64_t rounds() const { return rounds_.load(); }
  // How many were ended, by kind.
  [[nodiscard]] std::map<LeftoverKind, std::uint64_t> Repaired() const;

 private:
  using Key = std::pair<LeftoverKind, std::string>;
  using Leftovers = std::map<Key, OpenLeftover>;

  void Run();
  void Round();
  // `pool` is nullptr for what belongs to no pool here.
  void LookAfter(pool::Pool* pool);
  [[nodiscard]] std::vector<Leftover> FindAll(pool::Pool* pool, Leftovers& open) const;
  // True if there is more to do of it.
  bool Handle(const Leftover& leftover, const std::string& of, Leftovers& open);
  absl::StatusOr<bool> Repair(const Leftover& leftover);
  static void Keep(const Leftover& leftover, const absl::Status& problem, Leftovers& open);
  void Publish(const std::string& of, Leftovers open);
  void PublishHung(const std::string& of);
  // Between two rounds; false when it is to stop.
  bool Pause(std::chrono::milliseconds time);
  // False when it is to stop.
  bool Rest(std::chrono::milliseconds time);

  const pool::Pools& pools_;
  const node::StageReconciler node_;
  KeyLock& volume_locks_;
  const std::chrono::milliseconds interval_;
  pool::AskElsewhere ask_elsewhere_;
  std::atomic<std::uint64_t> rounds_{0};
  std::atomic<bool> unfinished_{false};  // what takes longer than one look

  mutable Mutex mutex_;
  CondVar stopped_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Leftovers> open_ ABSL_GUARDED_BY(mutex_);  // by pool, as below
  std::map<LeftoverKind, std::uint64_t> settled_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
  LongWork looks_{kPatience};  // by the name of the pool, empty for what belongs to none
};

}  // namespace holdfast::server
