// SPDX-License-Identifier: Apache-2.0
#include "support/temp_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace holdfast::test {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

// The first line of mountinfo that names a path below `path`; empty if there is none. Plain text
// search, so that it does not depend on code under test.
std::string FindMountBelow(const std::string& path) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" " + path) != std::string::npos) return line;
  }
  return mounts.bad() || !mounts.eof() ? "mountinfo is not readable" : "";
}

}  // namespace

std::string TempRoot() {
  const char* const configured = std::getenv("TMPDIR");
  const std::string base = configured == nullptr || *configured == '\0' ? "/var/tmp" : configured;
  return fmt::format("{}/holdfast-test-{}", base, ::getpid());
}

TempDirectory::TempDirectory() {
  const std::string root = TempRoot();
  if (::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) Fail("mkdir " + root);
  path_ = root + "/XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) Fail("mkdtemp " + path_);
  fd_ = os::UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd_.valid()) Fail("open " + path_);
}

TempDirectory::~TempDirectory() {
  const std::string mount = FindMountBelow(path_);
  if (!mount.empty()) {
    std::fprintf(stderr, "'%s' is left behind, because of a mount: %s\n", path_.c_str(),
                 mount.c_str());
    return;
  }
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) {
    std::fprintf(stderr, "cannot remove '%s': %s\n", path_.c_str(), error.message().c_str());
  }
  ::rmdir(TempRoot().c_str());  // fails while another one lives
}

}  // namespace holdfast::test
