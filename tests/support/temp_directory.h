// SPDX-License-Identifier: Apache-2.0
// Directories that exist as long as a test needs them.
#pragma once

#include <string>

#include "os/unique_fd.h"

namespace holdfast::test {

// ${TMPDIR:-/var/tmp}/holdfast-test-<pid>: everything that this process's tests put on a disk lies
// below it. It exists while any TempDirectory does.
[[nodiscard]] std::string TempRoot();

// A new, empty directory below TempRoot(), mode 0700. The destructor removes it with its contents,
// unless something is still mounted below it. Then nothing is touched, and a message on standard
// error names the mount. Throws std::runtime_error if the directory cannot be created. Not
// thread-safe.
class TempDirectory final {
 public:
  TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::string path_;
  os::UniqueFd fd_;
};

}  // namespace holdfast::test
