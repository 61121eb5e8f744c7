// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_runner.h"

#include <algorithm>
#include <exception>

#include "core/call_deadline.h"
#include "core/volume_id.h"

namespace holdfast::rpc {
namespace {

using std::chrono::steady_clock;

constexpr std::string_view kTeardown[] = {"NodeUnpublishVolume", "NodeUnstageVolume",
                                          "ControllerUnpublishVolume", "DeleteVolume"};

bool IsTeardown(std::string_view method) {
  return std::ranges::find(kTeardown, method) != std::end(kTeardown);
}

// Calls about no pool share a key, the empty one.
std::string KeyOf(const CallRunner::Call& call) {
  if (!call.pool.empty()) return call.pool;
  const auto id = VolumeId::Parse(call.volume);
  return id ? PoolKey(id->pool, id->node) : "";
}

absl::Status CatchAll(const std::function<absl::Status()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return Internal("unexpected failure: {}", error.what());
  }
}

}  // namespace

std::string PoolKey(std::string_view pool, std::string_view node) {
  if (node.empty()) return fmt::format("pool '{}'", pool);
  return fmt::format("pool '{}' of node '{}'", pool, node);
}

grpc::Status CallRunner::RunAlways(const Call& call, const std::function<absl::Status()>& body) {
  return Frame(call, /*limited=*/false, body);
}

grpc::Status CallRunner::Run(const grpc::ServerContext* context, const Call& call,
                             const std::function<absl::Status()>& body) {
  return Frame(call, /*limited=*/true, [&]() -> absl::Status {
    if (!ready()) return Unavailable("still recovering; try again");
    const CallDeadline deadline(context == nullptr ? std::chrono::system_clock::time_point::max()
                                                   : context->deadline());
    return body();
  });
}

grpc::Status CallRunner::Frame(const Call& call, bool limited,
                               const std::function<absl::Status()>& body) {
  const auto start = steady_clock::now();
  const std::uint64_t request = next_request_.fetch_add(1);
  absl::Status status = Enter(request, call, limited);
  if (status.ok()) {
    status = CatchAll(body);
    Leave(request, limited);
  }
  const auto duration = steady_clock::now() - start;
  if (observer_) observer_(call, status.code(), duration);
  LogCall(status.ok() ? call.level : LogLevel::kWarning,
          CallRecord{.request_id = request,
                     .method = call.method,
                     .volume = call.volume,
                     .duration = std::chrono::duration_cast<std::chrono::microseconds>(duration),
                     .status = status});
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), MessageOf(status));
}

absl::Status CallRunner::Enter(std::uint64_t request, const Call& call, bool limited) {
  std::string pool = KeyOf(call);
  const MutexLock lock(mutex_);
  if (refusing_) return Unavailable("the driver is stopping; try again");
  if (limited) {
    RETURN_IF_ERROR(RefuseBeyondLimits(call, pool));
    ++limited_[pool];
    ++all_limited_;
  }
  running_.emplace(request,
                   RunningCall{call.method, call.volume, std::move(pool), steady_clock::now()});
  return absl::OkStatus();
}

absl::Status CallRunner::RefuseBeyondLimits(const Call& call, const std::string& pool) const {
  const bool teardown = IsTeardown(call.method);
  const auto found = limited_.find(pool);
  const int of_pool = found == limited_.end() ? 0 : found->second;
  if (of_pool >= (teardown ? kMaxPerPoolForTeardown : kMaxPerPool)) {
    return Unavailable("{} calls {} are already running; try again", of_pool,
                       pool.empty() ? "that name no pool" : fmt::format("for {}", pool));
  }
  if (all_limited_ >= (teardown ? kMaxCallsForTeardown : kMaxCalls)) {
    return Unavailable("{} calls are under way already; try again", all_limited_);
  }
  return absl::OkStatus();
}

void CallRunner::Leave(std::uint64_t request, bool limited) {
  const MutexLock lock(mutex_);
  const auto call = running_.find(request);
  if (limited) {
    const auto of_pool = limited_.find(call->second.pool);
    if (--of_pool->second == 0) limited_.erase(of_pool);
    --all_limited_;
  }
  running_.erase(call);
  if (running_.empty()) idle_.NotifyAll();
}

void CallRunner::Refuse() {
  const MutexLock lock(mutex_);
  refusing_ = true;
}

void CallRunner::AwaitIdle() {
  MutexLock lock(mutex_);
  idle_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_.empty(); });
}

std::vector<std::string> CallRunner::Running() const {
  const auto now = steady_clock::now();
  const MutexLock lock(mutex_);
  std::vector<std::string> sentences;
  for (const auto& [request, call] : running_) {
    sentences.push_back(
        fmt::format("{} of '{}' has been running for {} s", call.method, call.volume,
                    std::chrono::duration_cast<std::chrono::seconds>(now - call.begun).count()));
  }
  return sentences;
}

std::set<std::string> CallRunner::BusyPools() const {
  const MutexLock lock(mutex_);
  std::set<std::string> pools;
  for (const auto& [request, call] : running_) pools.insert(call.pool);
  return pools;
}

}  // namespace holdfast::rpc
