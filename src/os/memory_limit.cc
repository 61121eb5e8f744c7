// SPDX-License-Identifier: Apache-2.0
#include "os/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>

namespace holdfast::os {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

// "max" stands for no limit and is not a number.
std::uint64_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::uint64_t limit = 0;
  if (!std::getline(file, text)) return kNone;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  return error == std::errc() && end == text.data() + text.size() ? limit : kNone;
}

// The limit of the group that a line of /proc/self/cgroup names; see cgroups(7). A line is
// "number:controllers:path", without controllers for version 2.
std::uint64_t LimitOfGroup(const std::string& line) {
  const std::size_t first = line.find(':');
  const std::size_t second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return kNone;
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const bool version2 = controllers == ",,";
  if (!version2 && controllers.find(",memory,") == std::string::npos) return kNone;
  const std::string root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  const std::string file = version2 ? "/memory.max" : "/memory.limit_in_bytes";
  // The limits of all parent groups count, too. A container's own group may be mounted as the root.
  std::uint64_t limit = ReadLimit(root + file);
  std::string path = line.substr(second + 1);
  while (path.size() > 1) {
    limit = std::min(limit, ReadLimit(root + path + file));
    path.erase(path.rfind('/'));
  }
  return limit;
}

}  // namespace

std::uint64_t MemoryLimit() {
  std::uint64_t limit = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) limit = std::min(limit, LimitOfGroup(line));
  return limit;
}

}  // namespace holdfast::os
