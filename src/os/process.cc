// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
// glibc 2.36 declares these without C linkage.
extern "C" {
#include <sys/pidfd.h>
}

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "os/child.h"
#include "os/unique_fd.h"

namespace holdfast::os {
namespace {

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
