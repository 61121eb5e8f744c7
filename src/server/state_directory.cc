// SPDX-License-Identifier: Apache-2.0
#include "server/state_directory.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "core/disk_names.h"
#include "os/file.h"

namespace holdfast::server {
namespace {

absl::StatusOr<os::UniqueFd> OpenStateDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return OsError(error.value(), fmt::format("make state directory '{}'", path));
  auto opened = os::OpenDirectory(path);
  if (opened.ok() || ::geteuid() == 0) return opened;
  return FailedPrecondition("{}; run Holdfast as root, to which it belongs",
                            MessageOf(opened.status()));
}

// How long a predecessor that was killed may keep its lock: a child that it was just starting has
// copies of its descriptors until it has closed them (os/child.cc).
constexpr auto kLockPatience = std::chrono::seconds(3);
constexpr auto kLockInterval = std::chrono::milliseconds(10);

absl::StatusOr<os::UniqueFd> LockState(int directory_fd) {
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  for (;;) {
    auto lock = os::LockDirectory(directory_fd, kStateLockName);
    if (!absl::IsFailedPrecondition(lock.status()) || std::chrono::steady_clock::now() >= end) {
      return lock;
    }
    std::this_thread::sleep_for(kLockInterval);
  }
}

}  // namespace

absl::StatusOr<StateDirectory> TakeStateDirectory(const std::string& path) {
  ASSIGN_OR_RETURN(os::UniqueFd directory, OpenStateDirectory(path));
  auto lock = LockState(directory.get());
  RETURN_IF_ERROR(Annotate(lock.status(), fmt::format("state directory '{}'", path)));
  return StateDirectory{std::move(directory), *std::move(lock)};
}

}  // namespace holdfast::server
