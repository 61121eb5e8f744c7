// SPDX-License-Identifier: Apache-2.0
#include "pool/questions.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

namespace holdfast::pool {
namespace {

absl::Status NoAnswer(const std::string& pool, Questions::Clock::time_point begun) {
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(Questions::Clock::now() - begun).count();
  return Unavailable(
      "pool '{}' does not answer, for {} s now: is the disk or network that carries it hung or "
      "frozen?",
      pool, age);
}

}  // namespace

absl::Status Questions::Run(const std::string& pool, std::function<void()> ask,
                            Clock::duration patience) const {
  const auto question = std::make_shared<Question>();
  const auto work = std::make_shared<std::function<void()>>(std::move(ask));
  question->end = question->begun + patience;
  MutexLock lock(state_->mutex);
  const auto [first, last] = state_->open.equal_range(pool);
  const auto late = std::find_if(
      first, last, [&](const auto& open) { return open.second->end <= question->begun; });
  if (late != last) return NoAnswer(pool, late->second->begun);
  try {
    // It cannot end before it is counted: the lock is held.
    std::thread([state = state_, pool, question, work] {
      absl::Status failure;
      try {
        (*work)();
      } catch (const std::exception& error) {
        failure = Internal("unexpected failure: {}", error.what());
      }
      End(*state, pool, question, std::move(failure));
    }).detach();
  } catch (const std::system_error&) {  // no thread can be started: the caller's must do
    lock.Unlock();
    (*work)();
    return absl::OkStatus();
  }
  state_->open.emplace(pool, question);
  if (state_->answered.WaitUntil(lock, question->end, [&] { return question->answered; })) {
    return question->failure;
  }
  return NoAnswer(pool, question->begun);
}

void Questions::End(State& state, const std::string& pool,
                    const std::shared_ptr<Question>& question, absl::Status failure) {
  const MutexLock lock(state.mutex);
  question->answered = true;
  question->failure = std::move(failure);
  const auto [first, last] = state.open.equal_range(pool);
  state.open.erase(
      std::find_if(first, last, [&](const auto& open) { return open.second == question; }));
  state.answered.NotifyAll();
}

void Questions::AwaitAnswers() const {
  MutexLock lock(state_->mutex);
  state_->answered.Wait(
      lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) { return state_->open.empty(); });
}

std::set<std::string> Questions::Unanswered() const {
  const MutexLock lock(state_->mutex);
  std::set<std::string> pools;
  for (const auto& [pool, question] : state_->open) pools.insert(pool);
  return pools;
}

}  // namespace holdfast::pool
