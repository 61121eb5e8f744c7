// SPDX-License-Identifier: Apache-2.0
#include "os/process_limits.h"

#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
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

// A segment that is never writable has no relocations and no data, so its pages are the file's.
bool IsConstant(const ElfW(Phdr) & segment) {
  return segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0;
}

int Release(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (!IsConstant(segment)) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = begin + segment.p_filesz;
    const std::uintptr_t aligned = begin / page * page;
    ::madvise(reinterpret_cast<void*>(aligned), end - aligned, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

absl::Status ForbidCoreDumps() {
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) return absl::OkStatus();
  return OsError(errno, "cannot forbid core dumps");
}

absl::StatusOr<int> RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return OsError(errno, "read RLIMIT_NOFILE");
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return OsError(errno, "raise RLIMIT_NOFILE");
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

std::uint64_t MemoryLimit() {
  std::uint64_t limit = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) limit = std::min(limit, LimitOfGroup(line));
  return limit;
}

void ReleaseStartupPages() { ::dl_iterate_phdr(&Release, nullptr); }

}  // namespace holdfast::os
