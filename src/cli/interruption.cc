// SPDX-License-Identifier: Apache-2.0
#include "cli/interruption.h"

#include <ctime>
#include <initializer_list>

namespace holdfast::cli {

Interruption::Interruption() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int Interruption::Signal() {
  const timespec no_wait{};
  if (signal_ != 0) return signal_;
  if (const int signal = ::sigtimedwait(&signals_, nullptr, &no_wait); signal > 0) signal_ = signal;
  return signal_;
}

}  // namespace holdfast::cli
