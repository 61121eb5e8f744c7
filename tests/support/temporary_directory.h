// SPDX-License-Identifier: Apache-2.0
// A directory for one test, below $TMPDIR or /var/tmp (a real filesystem, unlike many a /tmp).
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "os/file.h"

namespace holdfast::test {

// Its files and empty directories go with it; anything else is left and reported, because a mount
// below it must never be deleted into.
class TemporaryDirectory final {
 public:
  TemporaryDirectory() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/var/tmp") + "/holdfast-test-XXXXXX";
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
    absl::StatusOr<os::UniqueFd> directory = os::OpenDirectory(path_);
    REQUIRE(directory.ok());
    fd_ = std::move(*directory);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
      std::filesystem::remove(entry.path(), error);
    }
    if (!std::filesystem::remove(path_, error)) {
      WARN("left behind: " << path_ << ": " << error.message());
    }
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::string path_;
  os::UniqueFd fd_;
};

}  // namespace holdfast::test
