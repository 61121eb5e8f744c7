// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_runner.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/captured_stderr.h"

namespace holdfast::rpc {
namespace call_runner_test {

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

constexpr char kOfHung[] = "hung:n1:00000000-0000-5000-8000-000000000001";
constexpr char kOfWell[] = "well:n1:00000000-0000-5000-8000-000000000001";

// Calls that wait until the test releases them.
class Hanging final {
 public:
  explicit Hanging(CallRunner& calls) : calls_(calls) {}
  ~Hanging() { LetGo(); }

  // Returns when they all run.
  void Add(int count, const CallRunner::Call& call) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, call] {
        const grpc::Status status = calls_.Run(nullptr, call, [this] {
          std::unique_lock lock(mutex_);
          ++running_;
          changed_.notify_all();
          changed_.wait(lock, [this] { return let_go_; });
          return absl::OkStatus();
        });
        const std::lock_guard lock(mutex_);
        if (status.ok()) ++succeeded_;
      });
    }
    std::unique_lock lock(mutex_);
    wanted_ += count;
    changed_.wait(lock, [this] { return running_ == wanted_; });
  }
  int LetGo() {
    {
      const std::lock_guard lock(mutex_);
      let_go_ = true;
      changed_.notify_all();
    }
    threads_.clear();
    return succeeded_;
  }

 private:
  CallRunner& calls_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  int wanted_ = 0;
  int succeeded_ = 0;
  bool let_go_ = false;
  std::vector<std::jthread> threads_;
};

CallRunner::Call About(const char* volume, const char* method = "NodeStageVolume") {
  return {method, volume, LogLevel::kDebug};
}

TEST_CASE("a pool that hangs takes no more calls than its share, and only its own") {
  const test::CapturedStderr captured;
  CallRunner calls;
  calls.SetReady();
  Hanging hanging(calls);
  hanging.Add(CallRunner::kMaxPerPool, About(kOfHung));
  const grpc::Status refused = calls.Run(nullptr, About(kOfHung), Succeed);
  CHECK(refused.error_code() == grpc::UNAVAILABLE);
  CHECK_THAT(refused.error_message(), Catch::Contains("pool 'hung' of node 'n1'"));
  // A creation has a name yet, no id.
  const CallRunner::Call creation{"CreateVolume", "pvc", LogLevel::kDebug, PoolKey("hung", "n1")};
  CHECK(calls.Run(nullptr, creation, Succeed).error_code() == grpc::UNAVAILABLE);
  CHECK(calls.Run(nullptr, About(kOfWell), Succeed).ok());
  CHECK(calls.Run(nullptr, kQuiet, Succeed).ok());
  CHECK(calls.RunAlways(kQuiet, Succeed).ok());
  CHECK(calls.BusyPools() == std::set<std::string>{PoolKey("hung", "n1")});
  CHECK(hanging.LetGo() == CallRunner::kMaxPerPool);
  CHECK(calls.Run(nullptr, About(kOfHung), Succeed).ok());
  CHECK(calls.BusyPools().empty());
}

TEST_CASE("creation is refused before teardown is") {
  const test::CapturedStderr captured;
  CallRunner calls;
  calls.SetReady();
  Hanging hanging(calls);
  hanging.Add(CallRunner::kMaxPerPool, About(kOfHung));
  for (const char* const method :
       {"NodeUnpublishVolume", "NodeUnstageVolume", "ControllerUnpublishVolume", "DeleteVolume"}) {
    CHECK(calls.Run(nullptr, About(kOfHung, method), Succeed).ok());
    CHECK(calls.Run(nullptr, About(kOfHung), Succeed).error_code() == grpc::UNAVAILABLE);
  }
  hanging.Add(CallRunner::kMaxPerPoolForTeardown - CallRunner::kMaxPerPool,
              About(kOfHung, "NodeUnstageVolume"));
  CHECK(calls.Run(nullptr, About(kOfHung, "DeleteVolume"), Succeed).error_code() ==
        grpc::UNAVAILABLE);
}

TEST_CASE("what stops refuses all calls, and waits for those that run") {
  const test::CapturedStderr captured;
  CallRunner calls;
  calls.SetReady();
  Hanging hanging(calls);
  hanging.Add(1, About(kOfHung, "DeleteVolume"));
  calls.Refuse();
  CHECK(calls.RunAlways(kQuiet, Succeed).error_code() == grpc::UNAVAILABLE);
  const std::vector<std::string> running = calls.Running();
  REQUIRE(running.size() == 1);
  CHECK_THAT(running[0], Catch::StartsWith(std::string("DeleteVolume of '") + kOfHung));
  std::jthread letting_go([&] { hanging.LetGo(); });
  calls.AwaitIdle();
  CHECK(calls.Running().empty());
}

}  // namespace call_runner_test
}  // namespace holdfast::rpc
