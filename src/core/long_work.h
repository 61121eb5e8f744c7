// SPDX-License-Identifier: Apache-2.0
// Uninterruptible work that may take longer than a call can wait for it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/mutex.h"
#include "core/status.h"

namespace holdfast {

// Runs each piece on a thread of its own, at most one for each key at a time. Calls wait for it as
// long as their callers do (core/call_deadline.h), but no longer than `patience`. Thread-safe. What
// is under way when this ends continues until it is done or the process ends, so it must own what
// it uses.
class LongWork final {
 public:
  explicit LongWork(std::chrono::milliseconds patience) : patience_(patience) {}

  // Starts the work and waits for its end. UNAVAILABLE, saying that `what` is still under way, when
  // it does not end in time, and at once while other work for that key is running. `after_all` runs
  // after work whose caller no longer waited for its end. UNAVAILABLE, too, with nothing started,
  // when no thread can be created.
  [[nodiscard]] absl::Status Run(const std::string& key, const std::string& what,
                                 const std::function<void()>& work,
                                 const std::function<void()>& after_all = nullptr);

  // Waits until no work for that key is running. UNAVAILABLE as above.
  [[nodiscard]] absl::Status Await(const std::string& key);

  [[nodiscard]] bool IsUnderWay(const std::string& key) const;

  // Forgets the running work: it will never end.
  void Forget(const std::string& key);

 private:
  struct Piece {
    std::string what;
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
    bool given_up = false;
  };
  struct State {
    Mutex mutex;
    CondVar ended;
    std::map<std::string, std::shared_ptr<Piece>> under_way ABSL_GUARDED_BY(mutex);  // by key
  };
  static void End(State& state, const std::string& key, const std::shared_ptr<Piece>& piece,
                  const std::function<void()>& after_all);

  const std::chrono::milliseconds patience_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace holdfast
