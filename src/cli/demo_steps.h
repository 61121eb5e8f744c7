// SPDX-License-Identifier: Apache-2.0
// Runs a demonstration step by step, each on a line of its own: what happened, and how long it
// took. A termination signal ends it between two steps.
#pragma once

#include <csignal>
#include <functional>
#include <string>

#include "core/status.h"

namespace holdfast::cli {

// Records termination signals. From its construction on SIGINT, SIGTERM, SIGHUP and SIGQUIT wait
// until Signal() takes them, and a closed standard output (SIGPIPE) ends nothing: what was begun is
// always taken down in order. Make it before any other thread exists. Children inherit the blocked
// signals.
class Interruption final {
 public:
  Interruption();

  // The first signal that came so far; 0 if none did.
  [[nodiscard]] int Signal();

 private:
  sigset_t signals_{};
  int signal_ = 0;
};

class DemoSteps final {
 public:
  // Says in a few words what happened.
  using Act = std::function<absl::StatusOr<std::string>()>;

  DemoSteps(Interruption& interruption, bool colours)
      : interruption_(interruption), colours_(colours) {}

  // Runs `act` and prints its line; an error of it is printed and returned. CANCELLED, with nothing
  // run or printed, when a signal has come.
  [[nodiscard]] absl::Status Run(const std::string& name, const Act& act);

  // The same whether or not a signal has come: for cleaning up.
  [[nodiscard]] absl::Status RunAnyway(const std::string& name, const Act& act);

 private:
  Interruption& interruption_;
  bool colours_;
};

}  // namespace holdfast::cli
