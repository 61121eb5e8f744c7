// SPDX-License-Identifier: Apache-2.0
#include "os/thaw_guard.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "os/descriptor_gates.h"

namespace holdfast::os {
namespace {

enum ExitCode { kReleased = 0, kThawed = 1 };

std::int64_t MillisecondsNow() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return OsError(errno, "cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Until the other end is closed, but no longer than a second: to close a file of a filesystem that
// does not answer can take forever, and this process must not wait for that.
void AwaitEnd(int pipe_fd) {
  pollfd watched{pipe_fd, 0, 0};  // POLLHUP is always reported
  constexpr int kMost = 1000;     // ms
  while (::poll(&watched, 1, kMost) < 0 && errno == EINTR) {
  }
}

// Closes all descriptors but these two.
void KeepOnly(int first, int second) {
  const auto low = static_cast<unsigned>(std::min(first, second));
  const auto high = static_cast<unsigned>(std::max(first, second));
  if (low > 0) ::close_range(0, low - 1, 0);
  if (high > low + 1) ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, ~0U, 0);
}

// The child: a copy of a process with threads, so only system calls.
[[noreturn]] void Watch(int directory_fd, int pipe_fd, std::int64_t until) {
  ::setsid();  // a signal to the process group of this driver is not for it
  KeepOnly(directory_fd, pipe_fd);
  pollfd watched{pipe_fd, POLLIN, 0};
  for (std::int64_t left = until - MillisecondsNow(); left > 0; left = until - MillisecondsNow()) {
    if (::poll(&watched, 1, static_cast<int>(left)) <= 0) continue;
    char released = 0;
    if (::read(pipe_fd, &released, 1) == 1) ::_exit(kReleased);
    break;  // the other end is closed: that process is dead
  }
  // EINVAL: it is not frozen, so nothing was ended.
  const bool thawed = ::ioctl(directory_fd, FITHAW, 0) == 0 || errno != EINVAL;
  ::_exit(thawed ? kThawed : kReleased);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ThawGuard>> ThawGuard::Start(int directory_fd,
                                                            std::chrono::milliseconds limit) {
  ASSIGN_OR_RETURN(Pipe watched, MakePipe());
  ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  const std::int64_t until = MillisecondsNow() + limit.count();
  const auto claims = HoldBackClaims();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) Watch(directory_fd, watched.reading.get(), until);
  const int error = errno;
  ready.writing = UniqueFd();
  if (child > 0) AwaitEnd(ready.reading.get());  // the child has closed its copy, and all others
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    return WithCode(OsError(error, "cannot start the process that ends a freeze in time"),
                    absl::StatusCode::kUnavailable);
  }
  return std::unique_ptr<ThawGuard>(new ThawGuard(child, std::move(watched.writing)));
}

ThawGuard::~ThawGuard() { (void)Release(); }

bool ThawGuard::Release() {
  if (child_ < 0) return false;
  const pid_t child = std::exchange(child_, -1);
  const bool told = ::write(pipe_.get(), "r", 1) == 1;
  pipe_ = UniqueFd();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return told && WIFEXITED(status) && WEXITSTATUS(status) == kReleased;
}

}  // namespace holdfast::os
