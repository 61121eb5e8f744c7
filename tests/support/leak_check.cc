// SPDX-License-Identifier: Apache-2.0
#include "support/leak_check.h"

#define CATCH_CONFIG_EXTERNAL_INTERFACES  // for listeners

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>

#include "support/temp_directory.h"

namespace holdfast::test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kPoll{10};

// Entries appear and disappear while they are listed, so errors mean "not there".
std::vector<fs::path> Entries(const std::string& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  return entries;
}

std::string FirstLine(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

void AddDescriptors(Resources& resources) {
  for (const fs::path& entry : Entries("/proc/self/fd")) {
    std::error_code error;
    const fs::path target = fs::read_symlink(entry, error);
    if (error) continue;  // the descriptor that the listing itself needed
    resources.insert(fmt::format("descriptor {} ({})", entry.filename().string(), target.string()));
  }
}

void AddMounts(Resources& resources) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, target;
    fields >> id >> parent >> device >> root >> target;
    resources.insert(fmt::format("mount {} (of {} {} on {})", id, device, root, target));
  }
}

void AddLoops(Resources& resources) {
  for (const fs::path& entry : Entries("/sys/block")) {
    const std::string backing = FirstLine(entry / "loop" / "backing_file");
    if (!backing.starts_with(TempRoot() + "/")) continue;
    resources.insert(fmt::format("loop device {} (on {})", entry.filename().string(), backing));
  }
}

// The parent's id in /proc/<pid>/stat: the second field after the name, which is in parentheses.
std::string ParentOf(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(stat.substr(name_end + 1));
  std::string state, parent;
  fields >> state >> parent;
  return parent;
}

void AddChildren(Resources& resources) {
  const std::string self = std::to_string(::getpid());
  for (const fs::path& entry : Entries("/proc")) {
    const std::string pid = entry.filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string stat = FirstLine(entry / "stat");
    if (ParentOf(stat) != self) continue;
    resources.insert(fmt::format("child process {} ({})", pid, FirstLine(entry / "comm")));
  }
}

void AddThreads(Resources& resources) {
  for (const fs::path& entry : Entries("/proc/self/task")) {
    resources.insert(fmt::format("thread {}", entry.filename().string()));
  }
}

void AddFiles(Resources& resources) {
  for (const fs::path& entry : Entries(TempRoot())) {
    resources.insert(fmt::format("file '{}'", entry.string()));
  }
}

std::vector<std::string> Difference(const Resources& before, const Resources& after) {
  std::vector<std::string> added;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(added));
  return added;
}

// A test case runs once for each path through its sections; the outermost section is the test case
// itself, and it ends when the test's own objects are gone and its result still counts.
class LeakListener final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void sectionStarting(const Catch::SectionInfo&) override {
    if (depth_++ == 0) before_ = ListResources();
  }

  void sectionEnded(const Catch::SectionStats&) override {
    if (--depth_ != 0) return;
    for (const std::string& leak : FindLeaks(before_, kPatience)) {
      FAIL_CHECK("the test leaks " << leak);
    }
  }

 private:
  int depth_ = 0;
  Resources before_;
};

CATCH_REGISTER_LISTENER(LeakListener)

}  // namespace

Resources ListResources() {
  Resources resources;
  AddDescriptors(resources);
  AddMounts(resources);
  AddLoops(resources);
  AddChildren(resources);
  AddThreads(resources);
  AddFiles(resources);
  return resources;
}

std::vector<std::string> FindLeaks(const Resources& before, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::vector<std::string> leaks = Difference(before, ListResources());
  while (!leaks.empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kPoll);
    leaks = Difference(before, ListResources());
  }
  return leaks;
}

}  // namespace holdfast::test
