// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "os/descriptor_gates.h"
#include "os/unique_fd.h"

// glibc 2.36 declares these without C linkage.
extern "C" {
#include <sys/pidfd.h>
}

namespace holdfast::os {
namespace {

constexpr int kCannotRun = 127;  // a shell's exit code for a program that it cannot run

// vfork instead of posix_spawn, which cannot ask for a parent-death signal. Like posix_spawn it
// copies no address space and runs no atfork handlers.
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

// Starts `program` (an absolute path) in the directory `directory_fd`, or, without one, in this
// process's, with `output_fd` as standard output and error.
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

using Clock = std::chrono::steady_clock;

constexpr std::array<std::string_view, 4> kDirectories = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};
constexpr std::size_t kMaxOutput = 64UL * 1024;
constexpr std::size_t kOutputInError = 1024;
// How long a grandchild may hold the output open after the child itself has ended.
constexpr std::chrono::milliseconds kGrace{200};

bool IsExecutable(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

absl::StatusOr<std::string> ResolveProgram(const std::vector<std::string>& argv) {
  if (argv.empty()) return Internal("cannot run a command without a program");
  const absl::StatusOr<std::string> path = FindProgram(argv[0]);
  if (path.ok()) return path;
  return WithCode(path.status(), absl::StatusCode::kFailedPrecondition);
}

// Reads a pipe and keeps the end of the output.
class OutputTail final {
 public:
  explicit OutputTail(UniqueFd pipe) : pipe_(std::move(pipe)) {}

  [[nodiscard]] int fd() const { return pipe_.get(); }
  [[nodiscard]] bool open() const { return pipe_.valid(); }

  // Call when the pipe is readable or hung up.
  void ReadSome() {
    std::array<char, 16UL * 1024> buffer;
    const ssize_t count = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      pipe_ = UniqueFd();
      return;
    }
    text_.append(buffer.data(), static_cast<std::size_t>(count));
    if (text_.size() > 2 * kMaxOutput) text_ = Last(kMaxOutput);
  }

  [[nodiscard]] std::string Last(std::size_t size) const {
    return text_.substr(text_.size() - std::min(size, text_.size()));
  }

 private:
  UniqueFd pipe_;
  std::string text_;
};

int MillisecondsUntil(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, 1'000'000));
}

// Collects output until the child has ended and, within the grace, the output too. False when the
// child was still running at `end`.
bool CollectUntilExit(int pidfd, OutputTail& output, Clock::time_point end) {
  bool ended = false;
  while (!ended || output.open()) {
    // poll passes over negative descriptors.
    std::array<pollfd, 2> watched = {{{ended ? -1 : pidfd, POLLIN, 0}, {output.fd(), POLLIN, 0}}};
    const int ready = ::poll(watched.data(), watched.size(), MillisecondsUntil(end));
    if (ready < 0 && errno != EINTR) return ended;
    if (ready > 0 && watched[1].revents != 0) output.ReadSome();
    if (ready > 0 && watched[0].revents != 0) {
      ended = true;
      end = Clock::now() + kGrace;
    } else if (Clock::now() >= end) {
      return ended;
    }
  }
  return true;
}

// Kills what is left of the child's group and waits for the child. Without a bound: a child that
// hangs in the kernel may still write to its device, so the call must not report that it has ended.
absl::StatusOr<siginfo_t> KillGroupAndReap(pid_t child) {
  // Until the child is reaped its number, which is the group's, cannot belong to another process.
  ::kill(-child, SIGKILL);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED) != 0) {
    if (errno != EINTR) return OsError(errno, fmt::format("cannot wait for process {}", child));
  }
  return info;
}

absl::StatusOr<CommandResult> Run(const std::vector<std::string>& argv,
                                  std::chrono::milliseconds deadline,
                                  const std::vector<std::string>& environment, int directory_fd) {
  const Clock::time_point end = Clock::now() + deadline;
  ASSIGN_OR_RETURN(const std::string program, ResolveProgram(argv));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return OsError(errno, "cannot make a pipe");
  OutputTail output{UniqueFd(ends[0])};
  UniqueFd input(ends[1]);
  ASSIGN_OR_RETURN(const pid_t child,
                   StartChild(program, argv, input.get(), environment, directory_fd));
  input = UniqueFd();

  const UniqueFd pidfd(::pidfd_open(child, 0));
  const int pidfd_error = errno;
  const bool ended = pidfd.valid() && CollectUntilExit(pidfd.get(), output, end);
  ASSIGN_OR_RETURN(const siginfo_t info, KillGroupAndReap(child));
  if (!pidfd.valid()) return OsError(pidfd_error, fmt::format("cannot watch '{}'", program));
  if (!ended) {
    return Internal("'{}' was killed because it had not ended after {} ms; its last output: {}",
                    program, deadline.count(), output.Last(kOutputInError));
  }
  CommandResult result{.output = output.Last(kMaxOutput)};
  (info.si_code == CLD_EXITED ? result.exit_code : result.signal) = info.si_status;
  return result;
}

absl::Status RequireSuccess(const std::string& program, const CommandResult& result) {
  if (result.exit_code == 0) return absl::OkStatus();
  std::string_view end = result.output;
  end.remove_prefix(end.size() - std::min(end.size(), kOutputInError));
  while (!end.empty() && end.back() == '\n') end.remove_suffix(1);
  if (result.signal != 0) {
    return Internal("'{}' was ended by signal {}: {}", program, result.signal, end);
  }
  return Internal("'{}' failed with exit code {}: {}", program, result.exit_code, end);
}

}  // namespace

absl::StatusOr<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                         std::chrono::milliseconds deadline,
                                         const std::vector<std::string>& environment) {
  return Run(argv, deadline, environment, /*directory_fd=*/-1);
}

absl::Status RunCommandOrFail(const std::vector<std::string>& argv,
                              std::chrono::milliseconds deadline) {
  ASSIGN_OR_RETURN(const CommandResult result, RunCommand(argv, deadline));
  return RequireSuccess(argv[0], result);
}

absl::Status RunCommandIn(int directory_fd, const std::vector<std::string>& argv,
                          std::chrono::milliseconds deadline) {
  ASSIGN_OR_RETURN(const CommandResult result, Run(argv, deadline, {}, directory_fd));
  return RequireSuccess(argv[0], result);
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (IsExecutable(name)) return name;
    return NotFound("there is no program '{}'", name);
  }
  for (const std::string_view directory : kDirectories) {
    std::string path = fmt::format("{}/{}", directory, name);
    if (!name.empty() && IsExecutable(path)) return path;
  }
  return NotFound("program '{}' is not installed (looked in /usr/sbin, /usr/bin, /sbin, /bin)",
                  name);
}

}  // namespace holdfast::os
