// SPDX-License-Identifier: Apache-2.0
// Mount points for tests: made, looked at, and free again at the end.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "os/mount_table.h"
#include "os/mounter.h"
#include "os/request_path.h"
#include "os/unique_fd.h"

namespace holdfast::test {

inline void RequireOk(const absl::Status& status) {
  INFO(status);
  REQUIRE(status.ok());
}

inline os::RequestPath MakeTarget(const std::string& path) {
  auto target = os::RequestPath::Open(path, "target_path");
  RequireOk(target.status());
  RequireOk(target->MakeDirectory());
  return *std::move(target);
}

inline os::MountTable ReadTable() {
  auto table = os::MountTable::Read();
  RequireOk(table.status());
  return *std::move(table);
}

// The mount at `target`; an entry with id 0 if there is none.
inline os::MountEntry Mounted(const os::RequestPath& target) {
  const os::MountTable table = ReadTable();
  const os::MountEntry* const entry = table.At(target.path());
  return entry == nullptr ? os::MountEntry{} : *entry;
}

// Bind-mounts the file or directory at a path, which must not be a symbolic link.
inline absl::Status BindPath(const std::string& source, const os::RequestPath& target,
                             bool read_only, const std::vector<std::string>& flags) {
  const os::UniqueFd handle(::open(source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!handle.valid()) return OsError(errno, source);
  return os::BindMount(handle, source, target, read_only, flags);
}

// Unmounts everything at the target at the end, so that a failed test leaks nothing.
class MountGuard final {
 public:
  explicit MountGuard(const os::RequestPath& target) : target_(target) {}
  MountGuard(const MountGuard&) = delete;
  MountGuard& operator=(const MountGuard&) = delete;
  ~MountGuard() {
    while (::umount2(target_.path().c_str(), UMOUNT_NOFOLLOW) == 0) continue;
  }

 private:
  const os::RequestPath& target_;
};

inline bool CanWrite(const std::string& directory) {
  const std::string probe = directory + "/probe";
  const os::UniqueFd file(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) {
    CHECK(errno == EROFS);
    return false;
  }
  ::unlink(probe.c_str());
  return true;
}

}  // namespace holdfast::test
