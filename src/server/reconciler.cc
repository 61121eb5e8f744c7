// SPDX-License-Identifier: Apache-2.0
#include "server/reconciler.h"

#include <algorithm>
#include <exception>
#include <random>
#include <utility>

#include "core/clock.h"
#include "core/log.h"
#include "core/start_thread.h"
#include "core/trash_id.h"

namespace holdfast::server {
namespace {

using std::chrono::milliseconds;

using Clock = std::chrono::steady_clock;

constexpr milliseconds kShortestRest{5};
constexpr milliseconds kLongestLook{
    3000};  // if there is more to do; less than the patience with it

bool IsOfNode(LeftoverKind kind) {
  switch (kind) {
    case LeftoverKind::kOrphanedDevice:
    case LeftoverKind::kStaleStaging:
    case LeftoverKind::kVoidStageRecord:
    case LeftoverKind::kInterruptedGrowth:
      return true;
    default:
      return false;
  }
}

bool IsDoneInSteps(LeftoverKind kind) {
  return kind == LeftoverKind::kSharedStorage || kind == LeftoverKind::kUnfinishedCopy ||
         kind == LeftoverKind::kMissingDigests;
}

// Names of the pools, and the empty one, for what belongs to none.
std::vector<std::string> LanesOf(const pool::Pools& pools) {
  std::vector<std::string> names{""};
  for (const pool::Pool* const pool : pools.all()) names.push_back(pool->info().name);
  return names;
}

milliseconds Jittered(milliseconds interval) {
  static thread_local std::minstd_rand chance(std::random_device{}());
  const auto fifth = interval.count() / 5;
  return interval + milliseconds(std::uniform_int_distribution(-fifth, fifth)(chance));
}

}  // namespace

void Reconciler::Start(pool::AskElsewhere ask) {
  ask_elsewhere_ = std::move(ask);
  thread_ = StartThreadOrThrow([this] { Run(); });
}

void Reconciler::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  for (const std::string& name : LanesOf(pools_)) {
    while (!looks_.Await(name).ok()) continue;
  }
}

std::set<std::string> Reconciler::BusyPools() const {
  std::set<std::string> busy;
  for (const std::string& name : LanesOf(pools_)) {
    if (looks_.IsUnderWay(name)) busy.insert(name);
  }
  return busy;
}

std::vector<Reconciler::OpenLeftover> Reconciler::Open() const {
  const MutexLock lock(mutex_);
  std::vector<OpenLeftover> open;
  for (const auto& [pool, leftovers] : open_) {
    for (const auto& [key, leftover] : leftovers) open.push_back(leftover);
  }
  return open;
}

std::map<LeftoverKind, std::uint64_t> Reconciler::Repaired() const {
  const MutexLock lock(mutex_);
  return settled_;
}

void Reconciler::Run() {
  do {
    try {
      Round();
    } catch (const std::exception& error) {
      LogError("reconciler: unexpected failure: {}", error.what());
    }
  } while (Pause(unfinished_.exchange(false) ? kShortestRest : Jittered(interval_)));
}

void Reconciler::Wake() {
  {
    const MutexLock lock(mutex_);
    woken_ = true;
  }
  stopped_.NotifyAll();
}

bool Reconciler::Pause(milliseconds time) {
  MutexLock lock(mutex_);
  (void)stopped_.WaitFor(
      lock, time, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || woken_; });
  woken_ = false;
  return !stopping_;
}

void Reconciler::Round() {
  for (const std::string& name : LanesOf(pools_)) {
    if (!Rest(milliseconds(0))) return;
    const auto pool = name.empty() ? nullptr : pools_.Find(name).value_or(nullptr);
    const absl::Status looked = looks_.Run(name, "the look", [this, pool] { LookAfter(pool); });
    if (!looked.ok()) PublishHung(name);
  }
  ++rounds_;
}

void Reconciler::LookAfter(pool::Pool* pool) {
  const std::string name = pool == nullptr ? "" : pool->info().name;
  try {
    Leftovers open;
    const auto end = Clock::now() + kLongestLook;
    for (const Leftover& leftover : FindAll(pool, open)) {
      for (bool more = true; more;) {
        const auto start = Clock::now();
        more = Handle(leftover, name, open);
        const auto took = Clock::now() - start;
        if (!Rest(std::max(kShortestRest, std::chrono::duration_cast<milliseconds>(took)))) return;
        if (!more || Clock::now() < end) continue;
        unfinished_ = true;
        break;
      }
    }
    Publish(name, std::move(open));
  } catch (const std::exception& error) {
    LogError("reconciler: unexpected failure: {}", error.what());
  }
}

std::vector<Leftover> Reconciler::FindAll(pool::Pool* pool, Leftovers& open) const {
  std::vector<Leftover> all;
  const auto take = [&](const absl::StatusOr<std::vector<Leftover>>& found,
                        const Leftover& otherwise) {
    if (found.ok()) {
      all.insert(all.end(), found->begin(), found->end());
    } else {
      Keep(otherwise, found.status(), open);
    }
  };
  // The node's first: writers may wait for a growth that was interrupted.
  const auto of_node = node_.Find(pool);
  if (of_node.ok() || pool == nullptr) take(of_node, {LeftoverKind::kUnreadableStages, "node"});
  if (pool != nullptr) {
    take(pool->FindLeftovers(), {LeftoverKind::kUnreachablePool, pool->info().name});
  }
  return all;
}

bool Reconciler::Handle(const Leftover& leftover, const std::string& of, Leftovers& open) {
  const auto lock = volume_locks_.TryLockInBackground(leftover.subject, "the reconciler");
  if (!lock) {  // a call is at work on it: nothing new is known
    const MutexLock guard(mutex_);
    const auto before = open_[of].find({leftover.kind, leftover.subject});
    if (before != open_[of].end()) open.insert(*before);
    return false;
  }
  const absl::StatusOr<bool> ended = Repair(leftover);
  if (!ended.ok()) {
    Keep(leftover, ended.status(), open);
    return false;
  }
  if (!*ended) return IsDoneInSteps(leftover.kind);
  LogInfo("reconciler: {} of {} ended", ToString(leftover.kind), leftover.subject);
  const MutexLock guard(mutex_);
  ++settled_[leftover.kind];
  return false;
}

absl::StatusOr<bool> Reconciler::Repair(const Leftover& leftover) {
  if (IsOfNode(leftover.kind)) return node_.Repair(leftover.subject);
  if (const auto entry = TrashId::Parse(leftover.subject)) {
    ASSIGN_OR_RETURN(const auto of, pools_.Locate(entry->place().ToString()));
    return of.pool->TendTrash(*entry);
  }
  ASSIGN_OR_RETURN(const auto located, pools_.Locate(leftover.subject));
  if (leftover.kind == LeftoverKind::kUndecidedSnapshot) {
    return pool::EndUndecided(pools_, volume_locks_, located.id, ask_elsewhere_);
  }
  return located.pool->Repair(located.id);
}

void Reconciler::Keep(const Leftover& leftover, const absl::Status& problem, Leftovers& open) {
  open.emplace(Key{leftover.kind, leftover.subject},
               OpenLeftover{leftover, MessageOf(problem), NowRfc3339()});
}

// Each is logged when it is first seen and when it has gone, not every round.
void Reconciler::Publish(const std::string& of, Leftovers open) {
  const MutexLock lock(mutex_);
  Leftovers& known = open_[of];
  for (auto& [key, now] : open) {
    const auto before = known.find(key);
    if (before != known.end()) {
      now.since = before->second.since;
      continue;
    }
    LogWarning("reconciler: {} of {} is left: {}; to be done: {}", ToString(key.first), key.second,
               now.problem, RemedyOf(key.first));
  }
  for (const auto& [key, before] : known) {
    if (!open.contains(key)) {
      LogInfo("reconciler: {} of {} is gone", ToString(key.first), key.second);
    }
  }
  known = std::move(open);
}

// What is known of it stays as it is.
void Reconciler::PublishHung(const std::string& of) {
  Leftovers open;
  {
    const MutexLock lock(mutex_);
    open = open_[of];
  }
  const Leftover hung = of.empty() ? Leftover{LeftoverKind::kUnreadableStages, "node"}
                                   : Leftover{LeftoverKind::kUnreachablePool, of};
  Keep(hung,
       Unavailable("the search for unfinished operations has not ended: the pool's disk or "
                   "cluster hangs or is very slow"),
       open);
  Publish(of, std::move(open));
}

bool Reconciler::Rest(milliseconds time) {
  MutexLock lock(mutex_);
  return !stopped_.WaitFor(lock, time,
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
}

}  // namespace holdfast::server
