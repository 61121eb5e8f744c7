// SPDX-License-Identifier: Apache-2.0
// The frame around every RPC: gate, bound, log, exceptions, error codes.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "core/log.h"
#include "core/status.h"

namespace holdfast::rpc {

// Thread-safe. Requests are logged by method and volume only: no request is ever written out.
class CallRunner final {
 public:
  // More calls at once than this are answered UNAVAILABLE: each holds a thread. (gRPC's own thread
  // limit answers RESOURCE_EXHAUSTED, which a CO takes for a full pool.)
  static constexpr int kMaxCalls = 256;

  struct Call {
    std::string_view method;
    std::string_view volume;           // volume id or name; may be empty
    LogLevel level = LogLevel::kInfo;  // of the line for a success; failures are warnings
  };

  // Runs `body` and turns its status into gRPC's; for calls that must be answered at any time.
  [[nodiscard]] grpc::Status RunAlways(const Call& call, const std::function<absl::Status()>& body);

  // The same for calls that need recovered pools: UNAVAILABLE until SetReady, and with the deadline
  // of `context`, if there is one, as the thread's (core/call_deadline.h).
  [[nodiscard]] grpc::Status Run(const grpc::ServerContext* context, const Call& call,
                                 const std::function<absl::Status()>& body);

  // Told of every call that was answered, on the call's thread. Set before the first call.
  using Observer =
      std::function<void(const Call&, absl::StatusCode, std::chrono::steady_clock::duration)>;
  void SetObserver(Observer observer) { observer_ = std::move(observer); }

  void SetReady() { ready_.store(true, std::memory_order_release); }

  // From here on calls are answered UNAVAILABLE; waits at most `limit` for those that run.
  void Drain(std::chrono::milliseconds limit);

  [[nodiscard]] bool ready() const { return ready_.load(std::memory_order_acquire); }

 private:
  bool Enter();
  void Leave();

  Observer observer_;
  std::atomic<bool> ready_{false};
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;        // guarded by mutex_
  bool draining_ = false;  // guarded by mutex_
  std::atomic<std::uint64_t> next_request_{1};
};

}  // namespace holdfast::rpc
