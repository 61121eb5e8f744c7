// SPDX-License-Identifier: Apache-2.0
// vfork instead of posix_spawn, which cannot ask for a parent-death signal. Like posix_spawn it
// copies no address space and runs no atfork handlers.
#include "os/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "os/descriptor_gates.h"

namespace holdfast::os {
namespace {

constexpr int kCannotRun = 127;  // a shell's exit code for a program that it cannot run

struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* environment;
  int output_fd;
  int directory_fd;
  pid_t parent;
};

// Runs in the child, in the memory of its suspended parent: system calls only. Returns the errno of
// the call that failed.
int BecomeProgram(const ChildPlan& plan) {
  if (plan.directory_fd >= 0 && ::fchdir(plan.directory_fd) != 0) return errno;
  // Early: if the parent is killed now, these copies would keep its locks from its successor.
  const int null_fd = ::open("/dev/null", O_RDONLY);
  if (null_fd < 0 || ::dup2(null_fd, STDIN_FILENO) < 0 ||
      ::dup2(plan.output_fd, STDOUT_FILENO) < 0 || ::dup2(plan.output_fd, STDERR_FILENO) < 0 ||
      ::close_range(STDERR_FILENO + 1, ~0U, 0) != 0) {
    return errno;
  }
  if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != plan.parent) return ESRCH;  // killed before the signal was requested
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  if (::sigprocmask(SIG_SETMASK, &none, nullptr) != 0) return errno;
  ::execve(plan.program, plan.argv, plan.environment);
  return errno;
}

// Blocks every signal of this thread while it lives: a handler must not run in the child.
class SignalBlock final {
 public:
  SignalBlock() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
  ~SignalBlock() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

absl::StatusOr<pid_t> StartChild(const std::string& program, const std::vector<std::string>& argv,
                                 int output_fd, const std::vector<std::string>& environment,
                                 int directory_fd) {
  std::vector<std::string> words = argv;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<std::string> settings = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  settings.insert(settings.end(), environment.begin(), environment.end());
  std::vector<char*> variables;
  for (std::string& setting : settings) variables.push_back(setting.data());
  variables.push_back(nullptr);
  const ChildPlan plan{program.c_str(), arguments.data(), variables.data(),
                       output_fd,       directory_fd,     ::getpid()};
  volatile int failure = 0;  // written by the child
  const auto claims = HoldBackClaims();
  const SignalBlock block;
  // Nothing but system calls in the child, which vfork(2) allows on Linux; signals are blocked.
  // NOLINTBEGIN(*-unsafe-functions, *.vfork, *.Vfork)
  const pid_t child = ::vfork();
  if (child == 0) {
    failure = BecomeProgram(plan);
    ::_exit(kCannotRun);
  }
  // NOLINTEND(*-unsafe-functions, *.vfork, *.Vfork)
  if (child < 0) failure = errno;
  if (failure == 0) return child;
  if (child > 0) ::waitpid(child, nullptr, 0);
  return OsError(failure, fmt::format("cannot start program '{}'", program));
}

}  // namespace holdfast::os
