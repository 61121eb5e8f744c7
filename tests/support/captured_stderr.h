// SPDX-License-Identifier: Apache-2.0
// Captures what the process writes to standard error during its lifetime.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "os/unique_fd.h"

namespace holdfast::test {

// Not thread-safe against other writers of standard error coming and going.
class CapturedStderr final {
 public:
  CapturedStderr() : before_(::dup(STDERR_FILENO)), file_(::memfd_create("stderr", MFD_CLOEXEC)) {
    REQUIRE(before_.valid());
    REQUIRE(::dup2(file_.get(), STDERR_FILENO) == STDERR_FILENO);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;
  ~CapturedStderr() { ::dup2(before_.get(), STDERR_FILENO); }

  // Everything so far.
  [[nodiscard]] std::string text() const {
    std::string all;
    std::array<char, 4096> buffer{};
    ssize_t count = 0;
    while ((count = ::pread(file_.get(), buffer.data(), buffer.size(),
                            static_cast<off_t>(all.size()))) > 0) {
      all.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return all;
  }

 private:
  os::UniqueFd before_;
  os::UniqueFd file_;
};

}  // namespace holdfast::test
