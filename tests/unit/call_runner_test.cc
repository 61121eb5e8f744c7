// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_runner.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/captured_stderr.h"

namespace holdfast::rpc {
namespace {

const CallRunner::Call kQuiet{"Method", "", LogLevel::kDebug};

absl::Status Succeed() { return absl::OkStatus(); }

TEST_CASE("until the pools are recovered only calls that need none are served") {
  const test::CapturedStderr captured;
  CallRunner calls;
  bool ran = false;
  const auto body = [&] {
    ran = true;
    return absl::OkStatus();
  };
  CHECK_FALSE(calls.ready());
  CHECK(calls.Run(nullptr, kQuiet, body).error_code() == grpc::UNAVAILABLE);
  CHECK_FALSE(ran);
  CHECK(calls.RunAlways(kQuiet, body).ok());
  CHECK(ran);
  calls.SetReady();
  CHECK(calls.ready());
  CHECK(calls.Run(nullptr, kQuiet, Succeed).ok());
}

TEST_CASE("a status becomes gRPC's with code and message") {
  const test::CapturedStderr captured;
  CallRunner calls;
  const grpc::Status status = calls.RunAlways(kQuiet, [] { return Aborted("busy"); });
  CHECK(status.error_code() == grpc::ABORTED);
  CHECK(status.error_message() == "busy");
}

TEST_CASE("an exception is an internal error, and the next call is served") {
  const test::CapturedStderr captured;
  CallRunner calls;
  const grpc::Status status =
      calls.RunAlways(kQuiet, []() -> absl::Status { throw std::runtime_error("out of luck"); });
  CHECK(status.error_code() == grpc::INTERNAL);
  CHECK_THAT(status.error_message(), Catch::Contains("out of luck"));
  CHECK(calls.RunAlways(kQuiet, Succeed).ok());
}

TEST_CASE("each call is logged with its method, volume and code, failures as warnings") {
  const test::CapturedStderr captured;
  CallRunner calls;
  (void)calls.RunAlways({"Loud", "v1"}, Succeed);
  (void)calls.RunAlways({"Failing", "v2", LogLevel::kDebug}, [] { return Aborted("busy"); });
  (void)calls.RunAlways(kQuiet, Succeed);
  const std::string text = captured.text();
  const std::size_t newline = text.find('\n');
  const auto first = nlohmann::json::parse(text.substr(0, newline));
  const auto second = nlohmann::json::parse(text.substr(newline + 1));
  CHECK(first["method"] == "Loud");
  CHECK(first["volume"] == "v1");
  CHECK(first["level"] == "info");
  CHECK(first["code"] == "OK");
  CHECK(second["method"] == "Failing");
  CHECK(second["level"] == "warning");
  CHECK(second["code"] == "ABORTED");
  CHECK(second["request"].get<int>() > first["request"].get<int>());
}

TEST_CASE("more calls at once than there may be are unavailable, and only those") {
  const test::CapturedStderr captured;
  CallRunner calls;
  std::mutex mutex;
  std::condition_variable changed;
  int waiting = 0;
  bool finish = false;
  int succeeded = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < CallRunner::kMaxCalls; ++i) {
    threads.emplace_back([&] {
      const grpc::Status status = calls.RunAlways(kQuiet, [&] {
        std::unique_lock lock(mutex);
        ++waiting;
        changed.notify_all();
        changed.wait(lock, [&] { return finish; });
        return absl::OkStatus();
      });
      const std::lock_guard lock(mutex);
      if (status.ok()) ++succeeded;
    });
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting == CallRunner::kMaxCalls; });
  }
  CHECK(calls.RunAlways(kQuiet, Succeed).error_code() == grpc::UNAVAILABLE);
  CHECK(calls.RunAlways(kQuiet, Succeed).error_code() == grpc::UNAVAILABLE);
  {
    const std::lock_guard lock(mutex);
    finish = true;
    changed.notify_all();
  }
  threads.clear();
  CHECK(succeeded == CallRunner::kMaxCalls);
  CHECK(calls.RunAlways(kQuiet, Succeed).ok());
}

}  // namespace
}  // namespace holdfast::rpc
