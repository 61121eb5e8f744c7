// SPDX-License-Identifier: Apache-2.0
#include "rbd/monitor_answers.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <thread>
#include <vector>

namespace holdfast::rbd {
namespace recent_answer_test {

// Monitors that answer on request, and count the queries.
class Monitors {
 public:
  absl::StatusOr<int> Ask() {
    ++asked_;
    begun_.count_down();
    return answer_.get_future().get();
  }
  void Answer(const absl::StatusOr<int>& answer) { answer_.set_value(answer); }
  void AwaitQuestion() { begun_.wait(); }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  std::atomic<int> asked_{0};
  std::latch begun_{1};
  std::promise<absl::StatusOr<int>> answer_;
};

TEST_CASE("of many callers one asks") {
  RecentAnswer<int> recent;
  Monitors monitors;
  const auto ask = [&] { return monitors.Ask(); };
  std::vector<absl::StatusOr<int>> heard(8, 0);
  {
    std::vector<std::jthread> callers;
    for (auto& one : heard) callers.emplace_back([&] { one = recent.Get(ask); });
    monitors.AwaitQuestion();
    SECTION("and all hear the answer") { monitors.Answer(7); }
    SECTION("and all hear that there is none") { monitors.Answer(Unavailable("no answer")); }
  }
  for (const auto& one : heard) CHECK(one == heard.front());
  CHECK(monitors.asked() == 1);
  CHECK(recent.Get(ask) == heard.front());  // for some seconds
  CHECK(monitors.asked() == 1);
}

}  // namespace recent_answer_test
}  // namespace holdfast::rbd
