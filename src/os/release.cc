// SPDX-License-Identifier: Apache-2.0
#include "os/release.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace holdfast::os {
namespace {

constexpr char kDescriptors[] = "/proc/self/fd";

std::vector<int> OpenDescriptors() {
  std::vector<int> open;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kDescriptors, error)) {
    const std::string name = entry.path().filename();
    int fd = -1;
    std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd > STDERR_FILENO) open.push_back(fd);
  }
  return open;
}

void Release(int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) return;
  // A thread that waits on a socket still holds it after the close.
  if (S_ISSOCK(facts.st_mode)) ::shutdown(fd, SHUT_RDWR);
  if (S_ISSOCK(facts.st_mode) || S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)) ::close(fd);
}

// As the kernel names it: without links.
std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real == nullptr ? path : real.get();
}

bool IsAtOrBelow(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

}  // namespace

void ReleaseFilesAndSockets(const std::vector<std::string>& except_below) {
  std::vector<std::string> kept;
  for (const std::string& path : except_below) kept.push_back(RealPath(path));
  for (const int fd : OpenDescriptors()) {
    std::error_code error;
    const std::string path = std::filesystem::read_symlink(
        std::filesystem::path(kDescriptors) / std::to_string(fd), error);
    const bool is_kept = std::ranges::any_of(
        kept, [&](const std::string& directory) { return IsAtOrBelow(path, directory); });
    if (!is_kept) Release(fd);
  }
}

}  // namespace holdfast::os
