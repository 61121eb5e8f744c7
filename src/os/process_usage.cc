// SPDX-License-Identifier: Apache-2.0
#include "os/process_usage.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "os/file.h"
#include "os/unique_fd.h"

namespace holdfast::os {
namespace {

// Places in /proc/self/stat, counted from the state, the third field: what is before it may hold
// any characters.
enum Field : std::size_t {
  kUserTicks = 11,
  kSystemTicks = 12,
  kThreads = 17,
  kStartTicks = 19,
  kVirtualBytes = 20,
  kResidentPages = 21,
  kFields,
};

// That one counts through: of the directory here, and in ListDirectory.
constexpr std::uint64_t kOwnFiles = 2;

absl::StatusOr<std::vector<std::string>> ReadFields() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return Internal("cannot read /proc/self/stat");
  std::istringstream rest(line.substr(name_end + 1));
  std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  if (fields.size() < kFields) return Internal("/proc/self/stat has too few fields: '{}'", line);
  return fields;
}

double SecondsOf(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

absl::StatusOr<std::uint64_t> CountOpenFiles() {
  const UniqueFd directory(::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return OsError(errno, "cannot open /proc/self/fd");
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDirectory(directory.get()));
  return files.size() - kOwnFiles;
}

}  // namespace

absl::StatusOr<ProcessUsage> MeasureProcess() {
  static const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  // Once: later the wall clock may have been set.
  static const double booted_at = SecondsOf(CLOCK_REALTIME) - SecondsOf(CLOCK_BOOTTIME);
  ASSIGN_OR_RETURN(const std::vector<std::string> fields, ReadFields());
  const auto number = [&](Field field) { return std::stoull(fields[field]); };
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return OsError(errno, "read RLIMIT_NOFILE");
  ProcessUsage usage{
      .cpu_seconds = static_cast<double>(number(kUserTicks) + number(kSystemTicks)) / ticks,
      .started_at = booted_at + static_cast<double>(number(kStartTicks)) / ticks,
      .resident_bytes = number(kResidentPages) * page,
      .virtual_bytes = number(kVirtualBytes),
      .threads = number(kThreads),
      .max_open_files = files.rlim_cur};
  ASSIGN_OR_RETURN(usage.open_files, CountOpenFiles());
  return usage;
}

}  // namespace holdfast::os
