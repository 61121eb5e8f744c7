// SPDX-License-Identifier: Apache-2.0
#include "fs/format_programs.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "core/semaphore.h"

namespace holdfast::fs {
namespace {

constexpr std::chrono::minutes kMaxWait{1};
// Less than the wait, so that programs that hang with one disk do not keep others out.
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::minutes kMkfsDeadline{10};
constexpr std::size_t kOutputInError = 1024;
// Under -z, resize2fs and e2fsck of e2fsprogs 1.47 damage filesystems with blocks of 1 KiB: blocks
// that they zero by a request to the kernel keep their old content in the programs' own cache
// (lib/ext2fs/unix_io.c, unix_zeroout), and the undo file empties that cache only for larger
// blocks. With this variable set they write the zeros instead.
constexpr std::string_view kNoZeroout = "UNIX_IO_NOZEROOUT=1";

// Formatting mostly waits for the disk, so more than one for each core.
absl::StatusOr<Semaphore::Permit> TakePermit() {
  static Semaphore permits(std::max(8U, 2 * std::thread::hardware_concurrency()), kPatience);
  Semaphore::Permit permit = permits.Acquire(kMaxWait);
  if (permit != nullptr) return permit;
  return Unavailable("too many filesystems are being made or checked now; try again later");
}

}  // namespace

absl::Status RunMkfs(std::vector<std::string> argv, const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakePermit());
  argv.push_back(device.path);
  ASSIGN_OR_RETURN(const os::CommandResult result, os::RunCommand(argv, kMkfsDeadline));
  if (result.exit_code == 0) return os::FlushBlockDevice(device);
  return Internal("{} on {} failed with {}", argv.front(), device.path, DescribeEnd(result));
}

absl::StatusOr<os::CommandResult> RunMaintenance(const std::vector<std::string>& argv,
                                                 std::chrono::milliseconds deadline) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakePermit());
  return os::RunCommand(argv, deadline, {std::string(kNoZeroout)});
}

std::string DescribeEnd(const os::CommandResult& result) {
  std::string_view said = result.output;
  said = said.substr(0, said.find("\nUsage:"));
  while (said.ends_with('\n')) said.remove_suffix(1);
  said.remove_prefix(said.size() - std::min(said.size(), kOutputInError));
  if (result.signal != 0) return fmt::format("signal {}: {}", result.signal, said);
  return fmt::format("exit code {}: {}", result.exit_code, said);
}

}  // namespace holdfast::fs
