// SPDX-License-Identifier: Apache-2.0
// Leaks of every kind on purpose: these tests prove that the check finds them.
#include "support/leak_check.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/loop_image.h"
#include "support/temp_directory.h"

namespace holdfast::test {
namespace leak_check_test {

constexpr std::chrono::milliseconds kNow{0};

void RequireOneLeak(const Resources& before, const std::string& beginning) {
  const std::vector<std::string> leaks = FindLeaks(before, kNow);
  CAPTURE(leaks);
  REQUIRE(leaks.size() == 1);
  CHECK(leaks.front().starts_with(beginning));
}

TEST_CASE("nothing leaked is nothing found") {
  const TempDirectory directory;
  CHECK(FindLeaks(ListResources(), kNow).empty());
}

TEST_CASE("a leaked descriptor is found") {
  const Resources before = ListResources();
  const os::UniqueFd leak(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  RequireOneLeak(before, "descriptor ");
}

TEST_CASE("a leaked mount is found, also on top of another") {
  const TempDirectory directory;
  const Resources before = ListResources();
  REQUIRE(::mount("", directory.path().c_str(), "tmpfs", 0, "size=64k") == 0);
  RequireOneLeak(before, "mount ");
  const Resources with_one = ListResources();
  REQUIRE(::mount("", directory.path().c_str(), "tmpfs", 0, "size=64k") == 0);
  RequireOneLeak(with_one, "mount ");
  REQUIRE(::umount2(directory.path().c_str(), UMOUNT_NOFOLLOW) == 0);
  REQUIRE(::umount2(directory.path().c_str(), UMOUNT_NOFOLLOW) == 0);
}

TEST_CASE("a leaked loop device is found") {
  const TempDirectory directory;
  const ImageFile image(directory.path("image"), kMiB);
  const Resources before = ListResources();
  const AttachedLoop leak(image.fd());
  RequireOneLeak(before, "loop device loop");
}

TEST_CASE("a leaked child is found, dead or alive") {
  const Resources before = ListResources();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  RequireOneLeak(before, "child process ");
  REQUIRE(::kill(child, SIGKILL) == 0);
  RequireOneLeak(before, "child process ");
  REQUIRE(::waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a leaked thread is found") {
  const Resources before = ListResources();
  std::mutex mutex;
  mutex.lock();
  std::thread leak([&mutex] { const std::lock_guard wait(mutex); });
  const std::vector<std::string> leaks = FindLeaks(before, kNow);
  mutex.unlock();
  leak.join();
  REQUIRE(leaks.size() == 1);
  CHECK(leaks.front().starts_with("thread "));
}

TEST_CASE("a directory that is left behind is found") {
  const Resources before = ListResources();
  const TempDirectory leak;
  CHECK_FALSE(FindLeaks(before, kNow).empty());
  CHECK(FindLeaks(before, kNow).back().starts_with("file '" + leak.path()));
}

}  // namespace leak_check_test
}  // namespace holdfast::test
