// SPDX-License-Identifier: Apache-2.0
#include "server/stop_guard.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>

namespace holdfast::server {
namespace {

constexpr int kLateExit = 1;
constexpr std::chrono::seconds kLateTime{1};  // for what is done when it is late
constexpr std::chrono::seconds kTeardownTime{5};

sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Whether one of two can be read in that time.
bool EitherReadableWithin(int first, int second, std::chrono::milliseconds time) {
  pollfd watched[] = {{first, POLLIN, 0}, {second, POLLIN, 0}};
  const auto end = std::chrono::steady_clock::now() + time;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() < 0) return false;
    const int ready = ::poll(watched, std::size(watched), static_cast<int>(left.count()));
    if (ready > 0) return true;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<StopGuard>> StopGuard::Start(std::chrono::seconds limit,
                                                            std::function<void()> late) {
  std::unique_ptr<StopGuard> guard(new StopGuard(limit, std::move(late)));
  if (!guard->signals_.valid() || !guard->stopping_.valid() || !guard->stopped_.valid() ||
      !guard->ending_.valid()) {
    return Unavailable("no descriptor is left to wait for signals");
  }
  try {
    guard->thread_ = std::thread([guard = guard.get()] { guard->Run(); });
  } catch (const std::system_error& error) {
    return Unavailable("cannot start the thread that waits for signals: {}", error.what());
  }
  return guard;
}

StopGuard::StopGuard(std::chrono::seconds limit, std::function<void()> late)
    : limit_(limit), late_(std::move(late)) {
  const sigset_t signals = EndingSignals();
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  signals_ = os::UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC));
  stopping_ = os::UniqueFd(::eventfd(0, EFD_CLOEXEC));
  stopped_ = os::UniqueFd(::eventfd(0, EFD_CLOEXEC));
  ending_ = os::UniqueFd(::eventfd(0, EFD_CLOEXEC));
  // For an end that hangs itself. A handler, because the first process of a container is not ended
  // by a signal that it has none for.
  std::signal(SIGALRM, [](int) { ::_exit(kLateExit); });
}

StopGuard::~StopGuard() {
  if (ending_.valid()) ::eventfd_write(ending_.get(), 1);
  if (thread_.joinable()) thread_.join();
  ::alarm(0);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int StopGuard::Wait() const {
  const sigset_t signals = EndingSignals();
  int signal = 0;
  ::sigwait(&signals, &signal);
  ::eventfd_write(stopping_.get(), 1);
  return signal;
}

void StopGuard::Stopped() const { ::eventfd_write(stopped_.get(), 1); }

// Until Wait is called, a signal is pending.
void StopGuard::Run() {
  pollfd watched[] = {
      {ending_.get(), POLLIN, 0}, {stopping_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
  while (::poll(watched, std::size(watched), -1) < 0) continue;
  if (watched[0].revents != 0) return;
  ::alarm(static_cast<unsigned>((limit_ + kLateTime).count()));
  if (!EitherReadableWithin(stopped_.get(), ending_.get(), limit_)) {
    late_();
    ::_exit(kLateExit);
  }
  ::alarm(0);
  if (!EitherReadableWithin(ending_.get(), -1, kTeardownTime)) ::_exit(0);
}

}  // namespace holdfast::server
