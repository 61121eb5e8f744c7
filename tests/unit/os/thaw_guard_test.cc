// SPDX-License-Identifier: Apache-2.0
#include "os/thaw_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "os/unique_fd.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::os {
namespace thaw_guard_test {

using std::chrono::seconds;

std::vector<std::string> Children() {
  std::vector<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (std::string pid; children >> pid;) found.push_back(pid);
  }
  return found;
}

int DescriptorsOn(const std::string& pid, const std::string& path) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + pid + "/fd")) {
    std::error_code closed;
    if (std::filesystem::read_symlink(entry.path(), closed) == path) ++count;
  }
  return count;
}

// An unmount by another thread would find its mount busy.
TEST_CASE("a guard that has started holds none of this process's other descriptors") {
  const test::TempDirectory guarded;
  const test::TempDirectory other;
  const UniqueFd directory(::open(guarded.path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int round = 0; round < 100; ++round) {
    const UniqueFd open(::open(other.path("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(open.valid());
    auto guard = ThawGuard::Start(directory.get(), seconds(10));
    REQUIRE_OK(guard);
    const std::vector<std::string> children = Children();
    REQUIRE(children.size() == 1);
    CHECK(DescriptorsOn(children[0], std::filesystem::canonical(other.path(""))) == 0);
    CHECK((*guard)->Release());
  }
}

}  // namespace thaw_guard_test
}  // namespace holdfast::os
