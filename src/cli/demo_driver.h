// SPDX-License-Identifier: Apache-2.0
// A `holdfast serve` of one's own, as a child process that ends with its parent at the latest.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "os/unique_fd.h"
#include "proto/csi.grpc.pb.h"

namespace holdfast::cli {

class DemoDriver final {
 public:
  // `arguments` follow `holdfast serve --endpoint=<socket>`; the log goes to the file `log`.
  DemoDriver(std::string socket, std::string log, std::vector<std::string> arguments)
      : socket_(std::move(socket)), log_(std::move(log)), arguments_(std::move(arguments)) {}
  DemoDriver(const DemoDriver&) = delete;
  DemoDriver& operator=(const DemoDriver&) = delete;
  // Kills it if it still runs.
  ~DemoDriver();

  // Starts this same program again and waits until Probe says that it is ready. INTERNAL when it
  // ends instead (the end of its log is in the message) or needs longer than 30 s. It is not
  // running.
  [[nodiscard]] absl::Status Start();

  // SIGKILL; returns when the process is gone. OK if it does not run.
  [[nodiscard]] absl::Status Kill();

  // SIGTERM; INTERNAL unless it ends with exit code 0 within 40 s. OK if it does not run.
  [[nodiscard]] absl::Status Stop();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Valid after Start, until the next one.
  [[nodiscard]] csi::v1::Controller::Stub& controller() const { return *controller_; }
  [[nodiscard]] csi::v1::Node::Stub& node() const { return *node_; }

 private:
  [[nodiscard]] absl::Status Spawn();
  [[nodiscard]] absl::StatusOr<bool> IsReady();
  [[nodiscard]] bool EndsWithin(std::chrono::milliseconds time) const;
  [[nodiscard]] std::string LogTail() const;
  [[nodiscard]] absl::StatusOr<int> Reap();

  std::string socket_;
  std::string log_;
  std::vector<std::string> arguments_;
  pid_t pid_ = -1;
  os::UniqueFd pidfd_;
  std::unique_ptr<csi::v1::Controller::Stub> controller_;
  std::unique_ptr<csi::v1::Node::Stub> node_;
};

}  // namespace holdfast::cli
