// SPDX-License-Identifier: Apache-2.0
#include "core/long_work.h"

#include <catch2/catch.hpp>
#include <future>

#include "core/call_deadline.h"

namespace holdfast {
namespace long_work_test {

using std::chrono::hours;
using std::chrono::milliseconds;

// Work that ends when the test says so.
class Held final {
 public:
  std::function<void()> work() {
    return [ended = ended_] { ended.wait(); };
  }
  void End() { end_.set_value(); }

 private:
  std::promise<void> end_;
  std::shared_future<void> ended_ = end_.get_future().share();
};

TEST_CASE("work that ends in time is waited for, and nothing follows it") {
  LongWork long_work{hours(1)};
  bool done = false;
  std::promise<void> after_all;
  CHECK(long_work
            .Run(
                "a", "the work", [&] { done = true; }, [&] { after_all.set_value(); })
            .ok());
  CHECK(done);
  CHECK_FALSE(long_work.IsUnderWay("a"));
  CHECK(after_all.get_future().wait_for(milliseconds(0)) == std::future_status::timeout);
}

TEST_CASE("work that takes longer goes on, with what is to follow it") {
  LongWork long_work{milliseconds(1)};
  Held held;
  std::promise<bool> was_counted;
  const absl::Status run = long_work.Run("a", "the work", held.work(),
                                         [&] { was_counted.set_value(long_work.IsUnderWay("a")); });
  CHECK(absl::IsUnavailable(run));
  CHECK_THAT(std::string(run.message()), Catch::Contains("the work is still under way"));
  CHECK(absl::IsUnavailable(long_work.Await("a")));
  CHECK(absl::IsUnavailable(long_work.Run("a", "other work", [] { FAIL("both at once"); })));
  CHECK(long_work.Await("b").ok());
  held.End();
  CHECK(was_counted.get_future().get());
  while (!long_work.Await("a").ok()) {
  }
  std::promise<void> other_work;
  (void)long_work.Run("a", "other work", [&] { other_work.set_value(); });
  other_work.get_future().wait();
}

TEST_CASE("whoever awaits work goes on as soon as it has ended") {
  LongWork impatient{milliseconds(1)};
  Held held;
  CHECK_FALSE(impatient.Run("a", "the work", held.work()).ok());
  auto awaited = std::async(std::launch::async, [&] {
    while (!impatient.Await("a").ok()) {
    }
    return !impatient.IsUnderWay("a");
  });
  held.End();
  CHECK(awaited.get());
}

TEST_CASE("no call waits for work beyond its deadline") {
  LongWork long_work{hours(1)};
  Held held;
  {
    const CallDeadline deadline(std::chrono::system_clock::now());
    CHECK(absl::IsUnavailable(long_work.Run("a", "the work", held.work())));
    CHECK(absl::IsUnavailable(long_work.Await("a")));
  }
  held.End();
  CHECK(long_work.Await("a").ok());
}

TEST_CASE("what is let go of does not end what came after it") {
  LongWork long_work{milliseconds(1)};
  Held endless;
  Held next;
  CHECK_FALSE(long_work.Run("a", "the work", endless.work()).ok());
  long_work.Forget("a");
  CHECK_FALSE(long_work.IsUnderWay("a"));
  std::promise<void> followed;
  CHECK_FALSE(long_work.Run("a", "other work", next.work(), [&] { followed.set_value(); }).ok());
  endless.End();
  CHECK(long_work.IsUnderWay("a"));
  next.End();
  followed.get_future().wait();
}

}  // namespace long_work_test
}  // namespace holdfast
