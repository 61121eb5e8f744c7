// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_runner.h"

#include <chrono>
#include <exception>

#include "core/call_deadline.h"

namespace holdfast::rpc {
namespace {

absl::Status CatchAll(const std::function<absl::Status()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    return Internal("unexpected failure: {}", error.what());
  }
}

}  // namespace

grpc::Status CallRunner::RunAlways(const Call& call, const std::function<absl::Status()>& body) {
  const auto start = std::chrono::steady_clock::now();
  absl::Status status;
  if (Enter()) {
    status = CatchAll(body);
    Leave();
  } else {
    status = Unavailable("stopping, or serving {} calls already; try again", kMaxCalls);
  }
  const auto duration = std::chrono::steady_clock::now() - start;
  if (observer_) observer_(call, status.code(), duration);
  LogCall(status.ok() ? call.level : LogLevel::kWarning,
          CallRecord{.request_id = next_request_.fetch_add(1),
                     .method = call.method,
                     .volume = call.volume,
                     .duration = std::chrono::duration_cast<std::chrono::microseconds>(duration),
                     .status = status});
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), MessageOf(status));
}

bool CallRunner::Enter() {
  const std::lock_guard lock(mutex_);
  if (draining_ || running_ == kMaxCalls) return false;
  ++running_;
  return true;
}

void CallRunner::Leave() {
  const std::lock_guard lock(mutex_);
  if (--running_ == 0) idle_.notify_all();
}

void CallRunner::Drain(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  idle_.wait_for(lock, limit, [this] { return running_ == 0; });
}

grpc::Status CallRunner::Run(const grpc::ServerContext* context, const Call& call,
                             const std::function<absl::Status()>& body) {
  return RunAlways(call, [&]() -> absl::Status {
    if (!ready()) return Unavailable("still recovering; try again");
    const CallDeadline deadline(context == nullptr ? std::chrono::system_clock::time_point::max()
                                                   : context->deadline());
    return body();
  });
}

}  // namespace holdfast::rpc
