// SPDX-License-Identifier: Apache-2.0
// Asks several pools without waiting for one that hangs.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/mutex.h"
#include "core/status.h"
#include "pool/pool.h"

namespace holdfast::pool {

// A question about only one pool may hang with it: its caller waits for that pool. What
// asks several pools (a list, metrics, the link, the reconciler) asks through this, so that one
// that hangs is a problem of that pool only. Thread-safe.
class Questions final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{5};

  // What `ask` returns for the pool: a Status or StatusOr. It runs on a thread of its own, so it
  // has no call's deadline, and it may go on after this has returned: it owns what it uses besides
  // the pool. UNAVAILABLE when it has not answered within `patience`, and from then on at once,
  // until it has: so there are never more threads than callers in that time.
  template <typename Ask>
  [[nodiscard]] auto Put(Pool& pool, Ask ask, Clock::duration patience = kPatience) const
      -> std::invoke_result_t<Ask, Pool&> {
    using Answer = std::invoke_result_t<Ask, Pool&>;
    const auto answer = std::make_shared<std::optional<Answer>>();
    RETURN_IF_ERROR(Run(
        pool.info().name, [answer, ask = std::move(ask), &pool] { answer->emplace(ask(pool)); },
        patience));
    return std::move(**answer);
  }

  Questions() = default;
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;
  ~Questions() { AwaitAnswers(); }

  // Waits until every pool has answered, however long that takes.
  void AwaitAnswers() const;

  // Names of the pools that have not answered yet.
  [[nodiscard]] std::set<std::string> Unanswered() const;

 private:
  struct Question {
    Clock::time_point begun = Clock::now();
    Clock::time_point end;  // of the patience
    bool answered = false;
    absl::Status failure;  // to ask at all
  };
  struct State {
    Mutex mutex;
    CondVar answered;
    std::multimap<std::string, std::shared_ptr<Question>> open ABSL_GUARDED_BY(mutex);  // by pool
  };

  absl::Status Run(const std::string& pool, std::function<void()> ask,
                   Clock::duration patience) const;
  static void End(State& state, const std::string& pool, const std::shared_ptr<Question>& question,
                  absl::Status failure);

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace holdfast::pool
