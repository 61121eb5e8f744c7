// SPDX-License-Identifier: Apache-2.0
#include "os/mount_health.h"

#include <fcntl.h>
#include <libmount.h>
#include <sys/stat.h>

#include <cerrno>

#include "os/descriptor_gates.h"

namespace holdfast::os {
namespace {

bool HasOption(const std::string& options, const char* name) {
  return mnt_optstr_get_option(options.c_str(), name, nullptr, nullptr) == 0;
}

// An error of the filesystem itself, not of the path to it.
bool IsDead(const std::string& path) {
  const auto look = LookAtMount();
  struct statx facts {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
  if (::statx(AT_FDCWD, path.c_str(), flags, STATX_TYPE, &facts) == 0) return false;
  return errno == EIO || errno == ESHUTDOWN || errno == EUCLEAN;
}

}  // namespace

std::string DeadFilesystem() {
  return "the filesystem was shut down after an error and answers nothing any more; see the "
         "kernel's log, and end the pods that use it: it is checked before it is staged next";
}

std::string ProblemOf(const MountEntry& mount) {
  if (HasOption(mount.filesystem_options, "shutdown") || IsDead(mount.target)) {
    return DeadFilesystem();
  }
  if (mount.filesystem_read_only && HasOption(mount.mount_options, "rw")) {
    return "the filesystem went read-only after an error; see the kernel's log";
  }
  return "";
}

}  // namespace holdfast::os
