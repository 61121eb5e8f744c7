// SPDX-License-Identifier: Apache-2.0
#include "server/stop_guard.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <future>

#include "support/outcome.h"

namespace holdfast::server {
namespace stop_guard_test {

constexpr std::chrono::seconds kNever{3600};
constexpr int kInTime = 7;

// The exit code of a process that runs `body`, which gets a signal that ends it; -1 if another
// signal did.
template <typename Body>
int ExitCodeOf(const Body& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body();
    ::_exit(kInTime);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a signal that ends the process is waited for, from the start on") {
  CHECK(ExitCodeOf([] {
          const auto guard = StopGuard::Start(kNever, [] {});
          ::kill(::getpid(), SIGTERM);
          if (!guard.ok() || (*guard)->Wait() != SIGTERM) ::_exit(0);
        }) == kInTime);
}

TEST_CASE("what has not stopped in time ends, after it is told so") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(ExitCodeOf([&] {
          const auto guard =
              StopGuard::Start(std::chrono::seconds(0), [&] { (void)!::write(ends[1], "x", 1); });
          ::kill(::getpid(), SIGINT);
          std::promise<void>().get_future().wait();  // hangs
        }) == 1);
  char said = 0;
  CHECK(::read(ends[0], &said, 1) == 1);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("what has stopped ends without an error, though its libraries hang") {
  CHECK(ExitCodeOf([&] {
          const auto guard = StopGuard::Start(std::chrono::seconds(0), [] {});
          REQUIRE_OK(guard.status());
          (*guard)->Stopped();
          ::kill(::getpid(), SIGTERM);
          std::promise<void>().get_future().wait();
        }) == 0);
}

TEST_CASE("what hangs even then ends too") {
  CHECK(ExitCodeOf([&] {
          const auto guard = StopGuard::Start(std::chrono::seconds(0),
                                              [] { std::promise<void>().get_future().wait(); });
          ::kill(::getpid(), SIGTERM);
          std::promise<void>().get_future().wait();
        }) == 1);
}

TEST_CASE("afterwards signals are what they were before") {
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    REQUIRE_OK(StopGuard::Start(kNever, [] {}).status());
  }
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  CHECK(sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM));
}

}  // namespace stop_guard_test
}  // namespace holdfast::server
