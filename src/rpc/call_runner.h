// SPDX-License-Identifier: Apache-2.0
// The frame around every RPC: gate, bound, log, exceptions, error codes.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/log.h"
#include "core/mutex.h"
#include "core/status.h"

namespace holdfast::rpc {

// Names a pool of a node for CallRunner; `node` is empty where no node has the bytes.
[[nodiscard]] std::string PoolKey(std::string_view pool, std::string_view node);

// Thread-safe. Requests are logged by method and volume only: no request is ever written out.
class CallRunner final {
 public:
  // How many calls run at once: each holds a thread, and one that hangs with its pool holds it for
  // as long. More are answered UNAVAILABLE. (gRPC's own thread limit answers RESOURCE_EXHAUSTED,
  // which a CO takes for a full pool.) The limits are for each pool, so that one that hangs leaves
  // the others theirs; those for all pools bound a controller with many nodes. Calls that take
  // something down have more room than the others: they must go on when creating no longer can.
  static constexpr int kMaxPerPool = 128;
  static constexpr int kMaxPerPoolForTeardown = kMaxPerPool + 32;
  static constexpr int kMaxCalls = 1024;
  static constexpr int kMaxCallsForTeardown = kMaxCalls + 128;

  struct Call {
    std::string_view method;
    std::string_view volume;           // volume id or name; may be empty
    LogLevel level = LogLevel::kInfo;  // of the line for a success; failures are warnings
    // PoolKey of the pool that it waits for, unless `volume` is an id, which names it.
    std::string pool = {};
  };

  // Runs `body` and turns its status into gRPC's; for calls that must always be answered. They do
  // not count against the limits, so they must not block.
  [[nodiscard]] grpc::Status RunAlways(const Call& call, const std::function<absl::Status()>& body);

  // The same for calls that need recovered pools: UNAVAILABLE until SetReady, and beyond the limits
  // above; and with the deadline of `context`, if there is one, as the thread's
  // (core/call_deadline.h).
  [[nodiscard]] grpc::Status Run(const grpc::ServerContext* context, const Call& call,
                                 const std::function<absl::Status()>& body);

  // Told of every call that was answered, on the call's thread. Set before the first call.
  using Observer =
      std::function<void(const Call&, absl::StatusCode, std::chrono::steady_clock::duration)>;
  void SetObserver(Observer observer) { observer_ = std::move(observer); }

  void SetReady() { ready_.store(true, std::memory_order_release); }

  // From here on calls are answered UNAVAILABLE.
  void Refuse();

  // Waits until no call runs, however long that takes.
  void AwaitIdle();

  // One sentence for each running call, the oldest first.
  [[nodiscard]] std::vector<std::string> Running() const;

  // PoolKeys of the running calls.
  [[nodiscard]] std::set<std::string> BusyPools() const;

  [[nodiscard]] bool ready() const { return ready_.load(std::memory_order_acquire); }

 private:
  struct RunningCall {
    std::string_view method;
    std::string_view volume;
    std::string pool;
    std::chrono::steady_clock::time_point begun;
  };

  grpc::Status Frame(const Call& call, bool limited, const std::function<absl::Status()>& body);
  absl::Status Enter(std::uint64_t request, const Call& call, bool limited);
  void Leave(std::uint64_t request, bool limited);
  absl::Status RefuseBeyondLimits(const Call& call, const std::string& pool) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Observer observer_;
  std::atomic<bool> ready_{false};
  std::atomic<std::uint64_t> next_request_{1};
  mutable Mutex mutex_;
  CondVar idle_;
  bool refusing_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, RunningCall> running_ ABSL_GUARDED_BY(mutex_);  // by request
  // Calls by PoolKey, of those that are counted.
  std::map<std::string, int, std::less<>> limited_ ABSL_GUARDED_BY(mutex_);
  int all_limited_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::rpc
