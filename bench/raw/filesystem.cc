// SPDX-License-Identifier: Apache-2.0
#include "raw/filesystem.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uuid/uuid.h>
#include <xfs/xfs.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/workload.h"
#include "raw/durable_file.h"

namespace bench {
namespace {

std::string NewUuid() {
  uuid_t uuid;
  ::uuid_generate(uuid);
  std::array<char, UUID_STR_LEN> text{};
  ::uuid_unparse_lower(uuid, text.data());
  return text.data();
}

std::vector<std::string> MkfsArguments(const std::string& filesystem, bool keep_allocation,
                                       bool with_uuid) {
  std::vector<std::string> argv = {"/usr/sbin/mkfs." + filesystem, "-q"};
  if (with_uuid && filesystem == "xfs") {
    argv.insert(argv.end(), {"-m", "uuid=" + NewUuid()});
  } else if (with_uuid) {
    argv.insert(argv.end(), {"-U", NewUuid()});
  }
  if (filesystem == "ext4") {
    argv.insert(argv.end(), {"-b", "4096", "-m", "0", "-E",
                             keep_allocation ? "lazy_itable_init=1,lazy_journal_init=1,nodiscard"
                                             : "lazy_itable_init=1,lazy_journal_init=1"});
  } else if (keep_allocation) {
    argv.emplace_back("-K");
  }
  return argv;
}

void RunProgram(std::vector<std::string> argv) {
  std::vector<char*> pointers;
  for (std::string& argument : argv) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error =
      ::posix_spawn(&child, argv[0].c_str(), &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + argv[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) {
    throw std::runtime_error(argv[0] + " failed");
  }
}

}  // namespace

void ReadEnds(const std::string& device, std::int64_t size) {
  const Descriptor node(::open(device.c_str(), O_RDONLY | O_CLOEXEC), "open " + device);
  constexpr std::int64_t kEnd = 1 << 20;
  std::vector<char> buffer(kEnd);
  for (const std::int64_t offset : {std::int64_t{0}, size - kEnd}) {
    if (::pread(node.get(), buffer.data(), buffer.size(), offset) != kEnd) Fail("read " + device);
  }
}

void Format(const std::string& filesystem, const std::string& device, bool keep_allocation,
            bool with_uuid) {
  std::vector<std::string> argv = MkfsArguments(filesystem, keep_allocation, with_uuid);
  argv.push_back(device);
  RunProgram(std::move(argv));
}

void ChangeUuid(const std::string& filesystem, const std::string& device) {
  const std::string uuid = NewUuid();
  if (filesystem == "xfs") {  // as xfs_admin(8) does it
    RunProgram({"/usr/sbin/xfs_db", "-x", "-p", "xfs_admin", "-c", "uuid " + uuid, device});
  } else if (filesystem == "btrfs") {
    RunProgram({"/usr/bin/btrfstune", "-f", "-U", uuid, device});
  } else {
    RunProgram({"/usr/sbin/tune2fs", "-U", uuid, "-O", "metadata_csum_seed", device});
  }
}

void Mount(const std::string& device, const std::string& filesystem, const std::string& target,
           const char* options) {
  if (::mount(device.c_str(), target.c_str(), filesystem.c_str(), 0, options) != 0) {
    Fail("mount " + device);
  }
}

void BindMount(const std::string& source, const std::string& target) {
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    Fail("bind " + source);
  }
}

void Unmount(const std::string& target) {
  if (::umount2(target.c_str(), UMOUNT_NOFOLLOW) != 0) Fail("unmount " + target);
}

void Measure(const std::string& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) Fail("statvfs " + path);
}

void GrowXfs(const std::string& mount_path, long long device_size) {
  const Descriptor root = OpenDirectory(mount_path);
  xfs_fsop_geom geometry{};
  if (::ioctl(root.get(), XFS_IOC_FSGEOMETRY, &geometry) != 0) Fail("XFS_IOC_FSGEOMETRY");
  xfs_growfs_data request{
      .newblocks = static_cast<unsigned long long>(device_size) / geometry.blocksize,
      .imaxpct = geometry.imaxpct};
  if (::ioctl(root.get(), XFS_IOC_FSGROWFSDATA, &request) != 0) Fail("XFS_IOC_FSGROWFSDATA");
}

}  // namespace bench
