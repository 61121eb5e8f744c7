// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "os/file.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace process_test {

using std::chrono::milliseconds;
using test::TempDirectory;

constexpr milliseconds kAmple{60'000};

// Runs a program that is expected to start and to end in time.
CommandResult Run(const std::vector<std::string>& argv) {
  const absl::StatusOr<CommandResult> result = RunCommand(argv, kAmple);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  return *result;
}

// A perl program that locks `path` and leaves the lock with a grandchild that sleeps.
std::vector<std::string> LockAndFork(const std::string& path, const std::string& parent_then) {
  return {"perl", "-e",
          "$| = 1; open(F, '>', $ARGV[0]); flock(F, 2); print 'locked'; if (fork == 0) { sleep "
          "600; } " +
              parent_then,
          path};
}

// Waits until the lock is free; the test's own time limit is the bound.
bool BecomesFree(const TempDirectory& directory, const std::string& name) {
  for (int i = 0; i < 10'000; ++i) {
    if (LockFileAt(directory.fd(), name).ok()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

TEST_CASE("exit code and output are reported as they came") {
  CommandResult result = Run({"echo", "two  words", "", "*"});
  CHECK(result.exit_code == 0);
  CHECK(result.signal == 0);
  CHECK(result.output == "two  words  *\n");

  CHECK(Run({"false"}).exit_code == 1);
  CHECK(Run({"perl", "-e", "exit 77"}).exit_code == 77);
  CHECK(Run({"perl", "-e", "$| = 1; print 'out'; print STDERR 'err'; print 'end'"}).output ==
        "outerrend");
}

TEST_CASE("a signal that ends the child is reported as one") {
  const CommandResult result = Run({"perl", "-e", "kill 'TERM', $$; sleep 600"});
  CHECK(result.exit_code == -1);
  CHECK(result.signal == SIGTERM);
}

TEST_CASE("the child gets a clean environment, input, descriptors, signals and group") {
  const UniqueFd inheritable(::open("/dev/null", O_RDONLY));  // without O_CLOEXEC
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigset_t mask_before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);

  CHECK(Run({"env"}).output == "PATH=/usr/sbin:/usr/bin:/sbin:/bin\nLC_ALL=C\n");
  CHECK(Run({"cat"}).output.empty());
  CHECK(Run({"ls", "/proc/self/fd"}).output == "0\n1\n2\n3\n");  // 3 is the directory it lists
  CHECK(Run({"grep", "-cE", "^SigBlk:\\s0+$", "/proc/self/status"}).output == "1\n");
  CHECK(Run({"perl", "-e", "print $SIG{PIPE} // 'default'"}).output == "default");
  CHECK(Run({"perl", "-e", "print getpgrp == $$ ? 'own' : 'shared'"}).output == "own");

  ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  std::signal(SIGPIPE, before);
}

TEST_CASE("of a long output the end is kept") {
  const CommandResult result = Run({"seq", "1", "200000"});
  CHECK(result.exit_code == 0);
  CHECK(result.output.size() == 64 * 1024);
  CHECK_THAT(result.output, Catch::EndsWith("199999\n200000\n"));
}

TEST_CASE("at the deadline the whole group is killed") {
  const TempDirectory directory;
  // Long enough for perl to start; only a child that has started proves anything.
  const auto result =
      RunCommand(LockAndFork(directory.path("lock"), "sleep 600"), milliseconds(1000));
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(result.status()),
             Catch::Contains("perl") && Catch::Contains("1000 ms") && Catch::EndsWith("locked"));
  CHECK(BecomesFree(directory, "lock"));
}

TEST_CASE("a grandchild that keeps the output open neither holds the call nor survives it") {
  const TempDirectory directory;
  const auto start = std::chrono::steady_clock::now();
  const CommandResult result = Run(LockAndFork(directory.path("lock"), "exit 3"));
  CHECK(std::chrono::steady_clock::now() - start < kAmple / 2);  // not held until the deadline
  CHECK(result.exit_code == 3);
  CHECK(result.output == "locked");
  CHECK(BecomesFree(directory, "lock"));
}

TEST_CASE("a child that closes its output is still waited for") {
  const CommandResult result =
      Run({"perl", "-e", "close STDOUT; close STDERR; select(undef, undef, undef, 0.3); exit 5"});
  CHECK(result.exit_code == 5);
}

TEST_CASE("programs that are not there are a precondition") {
  for (const char* name : {"no-such-program", "/no/such/program", "/etc/passwd", "/etc", ""}) {
    CAPTURE(name);
    const auto result = RunCommand({name}, kAmple);
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(MessageOf(result.status()), Catch::Contains(fmt::format("'{}'", name)));
    CHECK(FindProgram(name).status().code() == absl::StatusCode::kNotFound);
  }
  CHECK_FALSE(RunCommand({}, kAmple).ok());
  CHECK(*FindProgram("env") == "/usr/bin/env");
}

TEST_CASE("a program that the kernel cannot start is an internal error") {
  const TempDirectory directory;
  REQUIRE(ReplaceFile(directory.fd(), "program", "#!/no/such/interpreter\n").ok());
  REQUIRE(::fchmodat(directory.fd(), "program", 0700, 0) == 0);
  const auto result = RunCommand({directory.path("program")}, kAmple);
  CHECK(result.status().code() == absl::StatusCode::kInternal);
}

TEST_CASE("a program runs in the open directory, wherever that has been moved") {
  const TempDirectory directory;
  std::filesystem::rename(directory.path(), directory.path() + ".moved");
  CHECK(RunCommandIn(directory.fd(), {"touch", "made"}, kAmple).ok());
  std::filesystem::rename(directory.path() + ".moved", directory.path());
  CHECK(std::filesystem::exists(directory.path() + "/made"));
  const absl::Status failed = RunCommandIn(directory.fd(), {"ls", "nothing"}, kAmple);
  CHECK(failed.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(failed), Catch::Contains("'ls' failed with exit code 2"));
}

TEST_CASE("RunCommandOrFail says which program failed, how, and its last words") {
  CHECK(RunCommandOrFail({"true"}, kAmple).ok());
  const absl::Status failed =
      RunCommandOrFail({"perl", "-e", "print STDERR \"disk on fire\\n\"; exit 4"}, kAmple);
  CHECK(failed.code() == absl::StatusCode::kInternal);
  CHECK(MessageOf(failed) == "'perl' failed with exit code 4: disk on fire");
  const absl::Status killed = RunCommandOrFail({"perl", "-e", "kill 'KILL', $$"}, kAmple);
  CHECK_THAT(MessageOf(killed), Catch::Contains("signal 9"));
}

TEST_CASE("threads run commands side by side and each gets its own child's result") {
  constexpr int kThreads = 8;
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&wrong, thread] {
      const std::string code = std::to_string(100 + thread);
      for (int round = 0; round < 5; ++round) {
        const auto result =
            RunCommand({"perl", "-e", "print $ARGV[0]; exit $ARGV[0]", code}, kAmple);
        if (!result.ok() || result->exit_code != 100 + thread || result->output != code) {
          ++wrong[static_cast<std::size_t>(thread)];
        }
      }
    });
  }
  threads.clear();
  CHECK(wrong == std::vector<int>(kThreads, 0));
}

}  // namespace process_test
}  // namespace holdfast::os
