// SPDX-License-Identifier: Apache-2.0
#include "pool/questions.h"

#include <catch2/catch.hpp>
#include <future>
#include <set>
#include <stdexcept>
#include <string>

#include "support/memory_pool.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace questions_test {

using namespace std::chrono_literals;
using test::MemoryPool;

struct Fixture {
  // Asks the pool a question that it does not answer before `freed` is set.
  absl::Status AskWhatHangs() {
    return questions.Put(
        hung, [free = freed](Pool&) -> absl::Status { return (free.wait(), absl::OkStatus()); },
        1ms);
  }
  absl::StatusOr<std::string> AskName(Pool& pool) {
    return questions.Put(pool,
                         [](Pool& one) -> absl::StatusOr<std::string> { return one.info().name; });
  }

  MemoryPool hung{"hung", "n1"};
  MemoryPool well{"well", "n1"};
  std::promise<void> freeing;
  std::shared_future<void> freed = freeing.get_future().share();
  Questions questions;
};

TEST_CASE_METHOD(Fixture, "a pool's answer is passed on, and its error") {
  CHECK(test::Value(AskName(well)) == "well");
  const auto refusal = questions.Put(
      well, [](Pool&) -> absl::StatusOr<int> { return FailedPrecondition("not the right disk"); });
  CHECK_FAILS(refusal, kFailedPrecondition, "not the right disk");
  const auto failure =
      questions.Put(well, [](Pool&) -> absl::StatusOr<int> { throw std::runtime_error("bad"); });
  CHECK_FAILS(failure, kInternal, "bad");
  CHECK(questions.Unanswered().empty());
}

TEST_CASE_METHOD(Fixture, "a pool that hangs is asked no more until it answers; others are") {
  CHECK_FAILS(AskWhatHangs(), kUnavailable, "pool 'hung' does not answer");
  // At once, whatever the patience: otherwise this would be the first question's answer.
  CHECK_FAILS(AskName(hung), kUnavailable, "pool 'hung' does not answer");
  CHECK(test::Value(AskName(well)) == "well");
  CHECK(questions.Unanswered() == std::set<std::string>{"hung"});
  freeing.set_value();
  questions.AwaitAnswers();
  CHECK(questions.Unanswered().empty());
  CHECK(test::Value(AskName(hung)) == "hung");
}

}  // namespace questions_test
}  // namespace holdfast::pool
