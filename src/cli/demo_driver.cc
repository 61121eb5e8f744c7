// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
// glibc 2.36 declares these without C linkage.
extern "C" {
#include <sys/pidfd.h>
}

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

#include "cli/connection.h"

namespace holdfast::cli {
namespace {

constexpr char kThisProgram[] = "/proc/self/exe";
constexpr std::chrono::seconds kStartTime{30};
constexpr std::chrono::seconds kStopTime{40};  // the driver itself gives calls 30 s
constexpr std::chrono::milliseconds kPollInterval{2};
constexpr std::size_t kLogTail = 2000;

// Between fork and exec in a process that may have threads: async-signal-safe calls only.
[[noreturn]] void BecomeDriver(pid_t parent, int log_fd, char* const* arguments,
                               char* const* environment) {
  // A process group of its own: the terminal's Ctrl-C is for the demonstration, which then ends it.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_RDONLY);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // The parent may have ended before prctl.
  if (null < 0 || ::getppid() != parent || ::dup2(null, STDIN_FILENO) < 0 ||
      ::dup2(log_fd, STDOUT_FILENO) < 0 || ::dup2(log_fd, STDERR_FILENO) < 0 ||
      ::close_range(STDERR_FILENO + 1, ~0U, 0) != 0) {
    ::_exit(127);
  }
  ::execve(kThisProgram, arguments, environment);
  ::_exit(127);
}

}  // namespace

DemoDriver::~DemoDriver() { Kill().IgnoreError(); }

absl::Status DemoDriver::Spawn() {
  const os::UniqueFd log(
      ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log.valid()) return OsError(errno, fmt::format("open '{}'", log_));
  std::vector<std::string> words = {"holdfast", "serve", "--endpoint=unix://" + socket_};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::string path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  std::string locale = "LC_ALL=C";
  std::array<char*, 3> environment = {path.data(), locale.data(), nullptr};
  const pid_t parent = ::getpid();
  // Not posix_spawn, which cannot ask for the signal at the parent's death; not fork, which runs
  // the handlers of every library.
  const pid_t child = ::_Fork();
  if (child == 0) BecomeDriver(parent, log.get(), arguments.data(), environment.data());
  if (child < 0) return OsError(errno, "start the driver");
  pid_ = child;
  pidfd_ = os::UniqueFd(::pidfd_open(child, 0));
  if (!pidfd_.valid()) return OsError(errno, "watch the driver");
  return absl::OkStatus();
}

absl::Status DemoDriver::Start() {
  RETURN_IF_ERROR(Spawn());
  const auto end = std::chrono::steady_clock::now() + kStartTime;
  while (true) {
    ASSIGN_OR_RETURN(const bool ready, IsReady());
    if (ready) return absl::OkStatus();
    if (EndsWithin(kPollInterval)) {
      ASSIGN_OR_RETURN(const int code, Reap());
      return Internal("the driver ended with {}; the end of its log:\n{}", code, LogTail());
    }
    if (std::chrono::steady_clock::now() > end) {
      return Internal("the driver is not ready after {} s; the end of its log:\n{}",
                      kStartTime.count(), LogTail());
    }
  }
}

absl::StatusOr<bool> DemoDriver::IsReady() {
  const auto channel = Connect("unix://" + socket_);
  // No socket yet, or that of the driver before.
  if (absl::IsNotFound(channel.status()) || absl::IsUnavailable(channel.status())) return false;
  RETURN_IF_ERROR(channel.status());
  const auto identity = csi::v1::Identity::NewStub(*channel);
  const auto probe = Call(*identity, &csi::v1::Identity::Stub::Probe, csi::v1::ProbeRequest());
  if (absl::IsUnavailable(probe.status())) return false;
  RETURN_IF_ERROR(probe.status());
  controller_ = csi::v1::Controller::NewStub(*channel);
  node_ = csi::v1::Node::NewStub(*channel);
  return probe->ready().value();
}

bool DemoDriver::EndsWithin(std::chrono::milliseconds time) const {
  pollfd watched{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(time.count())) > 0;
}

// The exit code, or 128 and the number of the signal that ended it, as shells say it.
absl::StatusOr<int> DemoDriver::Reap() {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0) {
    if (errno != EINTR) return OsError(errno, "wait for the driver");
  }
  pid_ = -1;
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

absl::Status DemoDriver::Kill() {
  if (pid_ < 0) return absl::OkStatus();
  ::kill(pid_, SIGKILL);
  return Reap().status();
}

absl::Status DemoDriver::Stop() {
  if (pid_ < 0) return absl::OkStatus();
  ::kill(pid_, SIGTERM);
  const bool ended = EndsWithin(kStopTime);
  if (!ended) ::kill(pid_, SIGKILL);
  ASSIGN_OR_RETURN(const int code, Reap());
  if (ended && code == 0) return absl::OkStatus();
  return Internal("the driver ended with {} on SIGTERM; the end of its log:\n{}", code, LogTail());
}

std::string DemoDriver::LogTail() const {
  std::ifstream file(log_);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() - std::min(all.size(), kLogTail));
}

}  // namespace holdfast::cli
