// SPDX-License-Identifier: Apache-2.0
// Handles termination signals, and ends the process in time whatever hangs.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::server {

// From its start on SIGTERM and SIGINT are waited for and end nothing by themselves. When one has
// come, and within `limit` Stopped() was not called and this was not destroyed, `late` is called on
// a thread of its own, and the process ends with exit code 1, a second later at the latest.
class StopGuard final {
 public:
  // UNAVAILABLE when no thread or descriptor is available.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<StopGuard>> Start(std::chrono::seconds limit,
                                                                        std::function<void()> late);
  StopGuard(const StopGuard&) = delete;
  StopGuard& operator=(const StopGuard&) = delete;
  ~StopGuard();

  // Waits for a signal and returns its number. Once, on the thread that started this.
  [[nodiscard]] int Wait() const;

  // Everything but memory and library threads has been released. If they have not ended 5 s later,
  // the process ends with exit code 0: gRPC 1.51 waits indefinitely for a thread that it once could
  // not start. Any thread.
  void Stopped() const;

 private:
  StopGuard(std::chrono::seconds limit, std::function<void()> late);
  void Run();

  const std::chrono::seconds limit_;
  const std::function<void()> late_;
  sigset_t before_{};      // the mask of the thread that started it
  os::UniqueFd signals_;   // shows that a signal has come, and is not read
  os::UniqueFd stopping_;  // eventfds
  os::UniqueFd stopped_;
  os::UniqueFd ending_;
  std::thread thread_;
};

}  // namespace holdfast::server
