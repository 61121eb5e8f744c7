// SPDX-License-Identifier: Apache-2.0
#include "os/mounter.h"

#include <fcntl.h>
#include <libmount.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>

#include "os/descriptor_gates.h"
#include "os/unique_fd.h"

namespace holdfast::os {
namespace {

using Context = std::unique_ptr<libmnt_context, decltype(&mnt_free_context)>;

// ---- filesystems

// libmount would attach a loop device of its own to a regular file.
absl::Status RequireBlockDevice(const std::string& path) {
  struct stat node {};
  if (::stat(path.c_str(), &node) != 0) {
    return OsError(errno, fmt::format("cannot inspect '{}'", path));
  }
  if (S_ISBLK(node.st_mode)) return absl::OkStatus();
  return Internal("cannot mount '{}': it is not a block device", path);
}

// Through the handle, libmount and the kernel use the very directory that was checked. Returns 0 or
// a negative errno.
int Prepare(libmnt_context* context, const DeviceMount& mount, const std::string& target) {
  std::string options = JoinMountFlags(mount.flags);
  if (mount.read_only) options += options.empty() ? "ro" : ",ro";
  int rc = mnt_context_set_optsmode(context, MNT_OMODE_NOTAB);  // no fstab
  if (rc == 0) rc = mnt_context_disable_mtab(context, 1);       // no /run/mount/utab
  if (rc == 0) rc = mnt_context_disable_helpers(context, 1);    // no fork for mount.<type>
  if (rc == 0) rc = mnt_context_disable_canonicalize(context, 1);
  // Without this a write-protected device is silently mounted read-only.
  if (rc == 0) rc = mnt_context_enable_rwonly_mount(context, mount.read_only ? 0 : 1);
  if (rc == 0) rc = mnt_context_set_source(context, mount.device.c_str());
  if (rc == 0) rc = mnt_context_set_target(context, target.c_str());
  if (rc == 0) rc = mnt_context_set_fstype(context, mount.filesystem.c_str());
  if (rc == 0) rc = mnt_context_set_options(context, options.c_str());
  return rc;
}

std::string_view HintFor(int error_number) {
  switch (error_number) {
    case EBUSY:
      return "; the device is mounted in another way or held by another program";
    case EUCLEAN:  // also known as EFSCORRUPTED
    case EBADMSG:  // and EFSBADCRC
      return "; the filesystem is damaged and must be repaired";
    default:
      return "";
  }
}

absl::Status MountError(libmnt_context* context, int rc, const DeviceMount& mount,
                        const std::string& target) {
  char reason[512] = "";
  mnt_context_get_excode(context, rc, reason, sizeof(reason));
  const std::string what = fmt::format("cannot mount '{}' ({}) on '{}': {}", mount.device,
                                       mount.filesystem, target, reason);
  if (mnt_context_syscall_called(context) == 0) return Internal("{} (libmount error {})", what, rc);
  const int error_number = mnt_context_get_syscall_errno(context);
  // EINVAL can mean a refused flag or a foreign superblock.
  if (error_number == EINVAL) {
    RETURN_IF_ERROR(Annotate(AskFilesystemAboutFlags(mount.filesystem, mount.flags),
                             fmt::format("cannot mount '{}' on '{}'", mount.device, target)));
  }
  return OsError(error_number, what + std::string(HintFor(error_number)));
}

// ---- binds

struct FlagAttribute {
  std::string_view flag;
  std::uint64_t set;
  std::uint64_t clear;
};

// mount_setattr(2): the three atime settings are one field, which must be cleared to be set.
constexpr std::array kFlagAttributes = {
    FlagAttribute{"noexec", MOUNT_ATTR_NOEXEC, 0},
    FlagAttribute{"nosuid", MOUNT_ATTR_NOSUID, 0},
    FlagAttribute{"nodev", MOUNT_ATTR_NODEV, 0},
    FlagAttribute{"nodiratime", MOUNT_ATTR_NODIRATIME, 0},
    FlagAttribute{"relatime", MOUNT_ATTR_RELATIME, MOUNT_ATTR__ATIME},
    FlagAttribute{"noatime", MOUNT_ATTR_NOATIME, MOUNT_ATTR__ATIME},
    FlagAttribute{"strictatime", MOUNT_ATTR_STRICTATIME, MOUNT_ATTR__ATIME},
};

mount_attr AttributesFor(bool read_only, const std::vector<std::string>& flags) {
  mount_attr attributes{};
  if (read_only) attributes.attr_set |= MOUNT_ATTR_RDONLY;
  for (const std::string& flag : flags) {
    for (const FlagAttribute& known : kFlagAttributes) {
      if (known.flag != flag) continue;
      attributes.attr_set &= ~known.clear;  // of two atime settings the last one counts
      attributes.attr_set |= known.set;
      attributes.attr_clr |= known.clear;
    }
  }
  return attributes;
}

}  // namespace

absl::Status MountFilesystem(const DeviceMount& mount, const RequestPath& target) {
  RETURN_IF_ERROR(RequireBlockDevice(mount.device));
  ASSIGN_OR_RETURN(const UniqueFd handle, target.OpenHandle());
  const Context context(mnt_new_context(), &mnt_free_context);
  if (context == nullptr) return OsError(ENOMEM, "cannot prepare a mount");
  // With the dot, because move_mount(2), which libmount uses since 2.39, does not follow the link
  // itself.
  int rc = Prepare(context.get(), mount, fmt::format("/proc/self/fd/{}/.", handle.get()));
  if (rc != 0) return OsError(-rc, fmt::format("cannot prepare to mount '{}'", mount.device));
  rc = mnt_context_mount(context.get());
  if (rc == 0) return absl::OkStatus();
  return MountError(context.get(), rc, mount, target.path());
}

absl::Status MountForAMoment(const DeviceMount& mount) {
  RETURN_IF_ERROR(RequireBlockDevice(mount.device));
  const auto failed = [&] {
    return OsError(errno, fmt::format("cannot mount '{}' ({})", mount.device, mount.filesystem));
  };
  const UniqueFd context(::fsopen(mount.filesystem.c_str(), FSOPEN_CLOEXEC));
  if (!context.valid() ||
      ::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", mount.device.c_str(), 0) != 0) {
    return failed();
  }
  std::vector<std::string> flags = mount.flags;
  if (mount.read_only) flags.emplace_back("ro");
  for (const std::string& flag : flags) {
    if (::fsconfig(context.get(), FSCONFIG_SET_FLAG, flag.c_str(), nullptr, 0) != 0)
      return failed();
  }
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return failed();
  // Closed at once, and unmounted by that.
  const UniqueFd detached(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  return detached.valid() ? absl::OkStatus() : failed();
}

absl::Status BindMount(const UniqueFd& source, const std::string& name, const RequestPath& target,
                       bool read_only, const std::vector<std::string>& flags) {
  ASSIGN_OR_RETURN(const UniqueFd handle, target.OpenHandle());
  const UniqueFd tree(
      ::open_tree(source.get(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH));
  if (!tree.valid()) return OsError(errno, fmt::format("cannot take '{}' for a bind", name));
  mount_attr attributes = AttributesFor(read_only, flags);
  if ((attributes.attr_set | attributes.attr_clr) != 0 &&
      ::mount_setattr(tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) != 0) {
    return OsError(errno, fmt::format("cannot set the flags of a bind of '{}'", name));
  }
  if (::move_mount(tree.get(), "", handle.get(), "",
                   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0) {
    return OsError(errno, fmt::format("cannot bind '{}' on '{}'", name, target.path()));
  }
  return absl::OkStatus();
}

absl::Status Unmount(const RequestPath& target) {
  const std::string path = target.through_parent();
  bool unmounted = ::umount2(path.c_str(), UMOUNT_NOFOLLOW) == 0;
  if (!unmounted && errno == EBUSY) {
    // A child that is being started may still have a copy of a descriptor that this process closed.
    const auto gate = HoldBackSpawns();
    const auto looks = HoldBackLooks();
    unmounted = ::umount2(path.c_str(), UMOUNT_NOFOLLOW) == 0;
  }
  if (unmounted) return absl::OkStatus();
  const int error_number = errno;
  if (error_number == ENOENT) return absl::OkStatus();
  // EINVAL means "not a mount point", but also that a user name space has locked the mount.
  if (error_number == EINVAL && target.HasNoMount()) return absl::OkStatus();
  if (error_number == EBUSY) {
    return FailedPrecondition(
        "cannot unmount '{}': it is busy; end the programs that use it (fuser -m shows them)",
        target.path());
  }
  return OsError(error_number, fmt::format("cannot unmount '{}'", target.path()));
}

}  // namespace holdfast::os
