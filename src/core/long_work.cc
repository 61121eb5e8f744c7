// SPDX-License-Identifier: Apache-2.0
#include "core/long_work.h"

#include <thread>

#include "core/call_deadline.h"
#include "core/start_thread.h"

namespace holdfast {
namespace {

using std::chrono::steady_clock;

absl::Status StillUnderWay(const std::string& what, steady_clock::time_point begun) {
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - begun).count();
  return Unavailable("{} is still under way, for {} s now; try again", what, age);
}

}  // namespace

absl::Status LongWork::Run(const std::string& key, const std::string& what,
                           const std::function<void()>& work,
                           const std::function<void()>& after_all) {
  auto piece = std::make_shared<Piece>(Piece{.what = what});
  MutexLock lock(state_->mutex);
  if (const auto other = state_->under_way.find(key); other != state_->under_way.end()) {
    return StillUnderWay(other->second->what, other->second->begun);
  }
  // The work cannot end before it is registered: the lock is held.
  ASSIGN_OR_RETURN(std::thread worker, StartThread([state = state_, key, piece, work, after_all] {
                     work();
                     End(*state, key, piece, after_all);
                   }));
  worker.detach();
  state_->under_way[key] = piece;
  const auto has_ended = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    const auto found = state_->under_way.find(key);
    return found == state_->under_way.end() || found->second != piece;
  };
  if (state_->ended.WaitFor(lock, WithinCallDeadline(patience_), has_ended)) {
    return absl::OkStatus();
  }
  piece->given_up = true;
  return StillUnderWay(what, piece->begun);
}

void LongWork::End(State& state, const std::string& key, const std::shared_ptr<Piece>& piece,
                   const std::function<void()>& after_all) {
  MutexLock lock(state.mutex);
  if (piece->given_up && after_all) {
    lock.Unlock();
    after_all();
    lock.Lock();
  }
  const auto found = state.under_way.find(key);
  if (found != state.under_way.end() && found->second == piece) state.under_way.erase(found);
  state.ended.NotifyAll();
}

absl::Status LongWork::Await(const std::string& key) {
  MutexLock lock(state_->mutex);
  const auto found = state_->under_way.find(key);
  if (found == state_->under_way.end()) return absl::OkStatus();
  const std::shared_ptr<Piece> piece = found->second;
  const auto has_ended = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    return !state_->under_way.contains(key);
  };
  if (state_->ended.WaitFor(lock, WithinCallDeadline(patience_), has_ended)) {
    return absl::OkStatus();
  }
  return StillUnderWay(piece->what, piece->begun);
}

bool LongWork::IsUnderWay(const std::string& key) const {
  const MutexLock lock(state_->mutex);
  return state_->under_way.contains(key);
}

void LongWork::Forget(const std::string& key) {
  const MutexLock lock(state_->mutex);
  state_->under_way.erase(key);
  state_->ended.NotifyAll();
}

}  // namespace holdfast
