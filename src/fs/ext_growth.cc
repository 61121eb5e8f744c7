// SPDX-License-Identifier: Apache-2.0
#include "fs/ext_growth.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "fs/ext_undo.h"
#include "fs/format_programs.h"

namespace holdfast::fs {
namespace {

using Clock = std::chrono::steady_clock;

// e2fsck(8), bits of the exit code. Any other bit means that the check did not finish.
constexpr int kCorrected = 1;
constexpr int kLeftUncorrected = 4;

// The space that the records beside the undo file may need meanwhile.
constexpr Bytes kRoomToLeave = 8 * kMiB;

std::chrono::milliseconds Until(Clock::time_point end) {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()),
                  std::chrono::milliseconds(1));
}

absl::Status JudgeCheck(const os::CommandResult& result, const os::BlockDevice& device) {
  if (result.signal == 0 && (result.exit_code & ~kCorrected) == 0) return absl::OkStatus();
  if (result.signal == 0 && (result.exit_code & kLeftUncorrected) != 0) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        fmt::format("e2fsck -p could not repair {}; repair it by hand: e2fsck -f {}; it ended with "
                    "{}",
                    device.path, device.path, DescribeEnd(result)));
  }
  return Internal("e2fsck on {} ended with {}", device.path, DescribeEnd(result));
}

absl::Status Check(UndoableRun run, const os::BlockDevice& device, const std::string& undo_path) {
  run.argv.push_back(device.path);
  run.successes = kCorrected;
  ASSIGN_OR_RETURN(const os::CommandResult result, RunWithUndo(run, device, undo_path));
  return JudgeCheck(result, device);
}

// The success of resize2fs counts only when e2fsck finds no error in the result.
absl::Status RequireGrown(const os::BlockDevice& device, std::uint64_t blocks,
                          Clock::time_point end) {
  ASSIGN_OR_RETURN(const ExtSuperblock after, ReadExtSuperblock(device, Mounted::kNo));
  if (after.blocks < blocks) {
    return Internal("{} has {} blocks, not {}", device.path, after.blocks, blocks);
  }
  ASSIGN_OR_RETURN(const os::CommandResult result,
                   RunMaintenance({"e2fsck", "-f", "-n", device.path}, Until(end)));
  if (result.signal == 0 && result.exit_code == 0) return absl::OkStatus();
  return Internal("e2fsck -f -n of {} ended with {}", device.path, DescribeEnd(result));
}

absl::Status RequireRoom(Bytes needed, Bytes most, const std::string& undo_path) {
  if (needed > most) {
    return ResourceExhausted("it would overwrite {} that have to be saved first, more than {}",
                             FormatBytes(needed), FormatBytes(most));
  }
  const std::string directory = std::filesystem::path(undo_path).parent_path();
  struct statvfs facts {};
  if (::statvfs(directory.c_str(), &facts) != 0) {
    return OsError(errno, fmt::format("cannot ask for the room in '{}'", directory));
  }
  const Bytes room = static_cast<Bytes>(facts.f_bavail * facts.f_frsize);
  if (room >= needed + kRoomToLeave) return absl::OkStatus();
  return ResourceExhausted("'{}' has room for {}, and {} have to be saved there first", directory,
                           FormatBytes(std::max(room - kRoomToLeave, Bytes{0})),
                           FormatBytes(needed));
}

// Groups below `groups` with a copy of superblock and descriptors: 1 and the powers of 3, 5 and 7
// (sparse_super, which every mke2fs of this century sets).
std::uint64_t Copies(std::uint64_t groups) {
  std::uint64_t copies = 2;  // the original, and group 1
  for (const std::uint64_t base : {3U, 5U, 7U}) {
    for (std::uint64_t power = base; power < groups; power *= base) ++copies;
  }
  return copies;
}

std::uint64_t DivideUp(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

}  // namespace

Bytes EstimateUndoFile(const ExtSuperblock& superblock, std::uint64_t blocks) {
  const auto groups_of = [&](std::uint64_t count) {
    return DivideUp(count - superblock.first_block, superblock.blocks_per_group);
  };
  const auto descriptor_blocks = [&](std::uint64_t groups) {
    return DivideUp(groups * superblock.descriptor_size, superblock.block_size);
  };
  const std::uint64_t before = groups_of(superblock.blocks);
  const std::uint64_t after = groups_of(blocks);
  constexpr std::uint64_t kBitmaps = 2;
  const std::uint64_t of_a_group =
      superblock.has_group_checksums ? 1 : kBitmaps + superblock.inode_table_blocks;
  // The old last group gets the rest of its blocks.
  std::uint64_t saved = (after - before + 1) * of_a_group;
  saved += Copies(after) * (1 + descriptor_blocks(after));
  // Descriptors without reserved space move every group's metadata.
  const std::uint64_t kept = descriptor_blocks(before) + superblock.reserved_descriptor_blocks;
  if (descriptor_blocks(after) > kept) {
    saved += before * (kBitmaps + superblock.inode_table_blocks + descriptor_blocks(after) - kept);
  }
  constexpr Bytes kAlways = kMiB / 4;  // the check, the resize inode, blocks of keys
  const Bytes data = static_cast<Bytes>(saved) * superblock.block_size;
  return data + data / 16 + superblock.journal_to_replay + kAlways;
}

absl::Status RepairUnmounted(const os::BlockDevice& device, const std::string& undo_path) {
  const auto verify = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const ExtSuperblock after, ReadExtSuperblock(device, Mounted::kNo));
    if (!after.has_errors) return absl::OkStatus();
    return Internal("{} still has its error flag", device.path);
  };
  const absl::Status repaired = Check({.argv = {"e2fsck", "-p"},
                                       .successes = 0,
                                       .deadline = kMaintenanceDeadline,
                                       .changes_superblocks_only = false,
                                       .verify = verify},
                                      device, undo_path);
  if (!absl::IsDataLoss(repaired)) return repaired;
  return WithCode(repaired, absl::StatusCode::kFailedPrecondition);
}

// resize2fs requires a full check since the last mount.
absl::Status GrowUnmounted(const os::BlockDevice& device, const ExtSuperblock& superblock,
                           std::uint64_t blocks, const std::string& undo_path,
                           const GrowthLimits& limits) {
  const Clock::time_point end = Clock::now() + limits.time;
  const Bytes most = limits.undo_file / (4 * kKiB) * superblock.block_size;
  RETURN_IF_ERROR(RequireRoom(EstimateUndoFile(superblock, blocks), most, undo_path));
  RETURN_IF_ERROR(Check({.argv = {"e2fsck", "-f", "-p"},
                         .successes = 0,
                         .deadline = Until(end),
                         .changes_superblocks_only = false,
                         .verify = nullptr},
                        device, undo_path));
  ASSIGN_OR_RETURN(const os::CommandResult result,
                   RunWithUndo({.argv = {"resize2fs", device.path, fmt::to_string(blocks)},
                                .successes = 0,
                                .deadline = Until(end),
                                .changes_superblocks_only = false,
                                .verify = [&] { return RequireGrown(device, blocks, end); }},
                               device, undo_path));
  if (result.exit_code == 0) return absl::OkStatus();
  return Internal("resize2fs of {} to {} blocks failed with {}", device.path, blocks,
                  DescribeEnd(result));
}

}  // namespace holdfast::fs
