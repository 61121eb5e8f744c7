// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_steps.h"

#include <chrono>
#include <ctime>
#include <initializer_list>
#include <iostream>

#include "cli/terminal.h"

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

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

}  // namespace

absl::Status DemoSteps::Run(const std::string& name, const Act& act) {
  if (interruption_.Signal() != 0) {
    return MakeStatus(absl::StatusCode::kCancelled,
                      fmt::format("interrupted by signal {}", interruption_.Signal()));
  }
  return RunAnyway(name, act);
}

absl::Status DemoSteps::RunAnyway(const std::string& name, const Act& act) {
  const auto begin = std::chrono::steady_clock::now();
  const absl::StatusOr<std::string> happened = act();
  const Milliseconds time = std::chrono::steady_clock::now() - begin;
  const bool well = happened.ok();
  const std::string mark = Paint(well ? "✓" : "✗", well ? Colour::kGreen : Colour::kRed, colours_);
  std::cout << fmt::format("{} {:<15} {:>7.1f} ms  {}\n", mark, name, time.count(),
                           well ? *happened : MessageOf(happened.status()))
            << std::flush;
  return happened.status();
}

}  // namespace holdfast::cli
