// SPDX-License-Identifier: Apache-2.0
// Records termination signals, so that a verb can stop between two steps.
#pragma once

#include <csignal>

namespace holdfast::cli {

// From its construction on SIGINT, SIGTERM, SIGHUP and SIGQUIT wait until Signal() takes them, and
// a closed standard output (SIGPIPE) ends nothing: what was begun is always taken down in order.
// Make it before any other thread exists. Children inherit the blocked signals.
class Interruption final {
 public:
  Interruption();

  // The first signal that came so far; 0 if none did.
  [[nodiscard]] int Signal();

 private:
  sigset_t signals_{};
  int signal_ = 0;
};

}  // namespace holdfast::cli
