// SPDX-License-Identifier: Apache-2.0
#include "os/loop_number.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "os/file.h"

namespace holdfast::os {
namespace {

std::string SysfsPath(int index, std::string_view name) {
  return fmt::format("/sys/block/loop{}/{}", index, name);
}

std::uint64_t SysfsNumber(int index, std::string_view name) {
  std::uint64_t value = 0;
  std::ifstream(SysfsPath(index, name)) >> value;
  return value;
}

void MakeNode(int index) {
  unsigned int major = 0;
  unsigned int minor = 0;
  char colon = 0;
  if (std::ifstream(SysfsPath(index, "dev")) >> major >> colon >> minor) {
    ::mknod(LoopPath(index).c_str(), S_IFBLK | 0600, makedev(major, minor));
  }
}

constexpr std::string_view kDeleted = " (deleted)";

std::string BackingPath(int index) {
  const auto directory = OpenDirectory(fmt::format("/sys/block/loop{}/loop", index));
  if (!directory.ok()) return "";
  std::string path = ReadFileAt(directory->get(), "backing_file").value_or("");
  if (path.ends_with('\n')) path.pop_back();
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

}  // namespace

std::string LoopPath(int index) { return fmt::format("/dev/loop{}", index); }

UniqueFd OpenLoop(int index, int flags) {
  const std::string path = LoopPath(index);
  int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) {
    MakeNode(index);
    fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
  }
  return UniqueFd(fd);
}

std::vector<int> LoopNumbers() {
  std::vector<int> loops;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block", error)) {
    const std::string name = entry.path().filename();
    constexpr std::string_view kPrefix = "loop";
    int index = -1;
    if (!name.starts_with(kPrefix)) continue;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data() + kPrefix.size(), end, index).ptr == end) {
      loops.push_back(index);
    }
  }
  return loops;
}

std::string LabelOf(const loop_info64& info) {
  const auto* const name = reinterpret_cast<const char*>(info.lo_file_name);
  return {name, ::strnlen(name, LO_NAME_SIZE)};
}

bool IsOutOfReach(int error_number) {
  return error_number == EIO || error_number == ESTALE || error_number == ESHUTDOWN;
}

bool IsBound(int index) { return ::access(SysfsPath(index, "loop").c_str(), F_OK) == 0; }

bool AcceptsDiscard(int index) { return SysfsNumber(index, "queue/discard_max_bytes") != 0; }

bool DiscardIsSwitchedOff(int index) {
  return !AcceptsDiscard(index) && SysfsNumber(index, "queue/discard_max_hw_bytes") != 0;
}

absl::Status SwitchDiscardOff(int index) {
  if (!AcceptsDiscard(index)) return absl::OkStatus();
  const std::string path = SysfsPath(index, "queue/discard_max_bytes");
  const UniqueFd setting(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (setting.valid() && ::write(setting.get(), "0", 1) == 1) return absl::OkStatus();
  return OsError(errno, fmt::format("cannot switch off discard in '{}'", path));
}

bool IsSetReadOnly(int node_fd, const loop_info64& info) {
  int read_only = 0;
  return (info.lo_flags & LO_FLAGS_READ_ONLY) == 0 && ::ioctl(node_fd, BLKROGET, &read_only) == 0 &&
         read_only != 0;
}

bool SetWritable(int node_fd) {
  const int read_only = 0;
  return ::ioctl(node_fd, BLKROSET, &read_only) == 0;
}

void ResetReadOnly(int index) {
  // O_EXCL keeps others from binding it meanwhile.
  const UniqueFd node = OpenLoop(index, O_RDONLY | O_EXCL);
  loop_info64 info{};
  const bool bound = node.valid() && ::ioctl(node.get(), LOOP_GET_STATUS64, &info) == 0;
  if (!bound && node.valid()) static_cast<void>(SetWritable(node.get()));
}

std::optional<LoopFile> FileOfLoop(int index) {
  std::string path = BackingPath(index);
  if (path.empty()) return std::nullopt;
  return LoopFile{.path = std::move(path), .direct_io = SysfsNumber(index, "loop/dio") != 0};
}

std::vector<LoopLabel> LoopLabels(const std::string& prefix) {
  std::vector<LoopLabel> labels;
  for (const int index : LoopNumbers()) {
    if (!IsBound(index)) continue;
    const auto identity = IdentifyLoop(index);
    if (!identity.ok() || !*identity || !(*identity)->label) continue;
    if ((*identity)->label->starts_with(prefix)) labels.push_back({index, *(*identity)->label});
  }
  return labels;
}

absl::StatusOr<std::vector<LoopDevice>> FindLoopsByLabel(const std::string& label) {
  std::vector<LoopDevice> found;
  for (const LoopLabel& loop : LoopLabels(label)) {
    if (loop.label != label) continue;
    ASSIGN_OR_RETURN(BlockDevice block, InspectBlockDevice(LoopPath(loop.index)));
    found.push_back(
        LoopDevice{.index = loop.index, .block = std::move(block), .label = loop.label});
  }
  return found;
}

absl::StatusOr<std::optional<LoopIdentity>> IdentifyLoop(int index) {
  const UniqueFd node = OpenLoop(index, O_RDONLY);
  loop_info64 info{};
  if (node.valid() && ::ioctl(node.get(), LOOP_GET_STATUS64, &info) == 0) {
    return LoopIdentity{.label = LabelOf(info), .path = ""};
  }
  if (errno == ENXIO || errno == ENOENT || errno == ENODEV) return std::nullopt;
  if (!node.valid() || !IsOutOfReach(errno)) {
    return OsError(errno, fmt::format("cannot inspect '{}'", LoopPath(index)));
  }
  return LoopIdentity{.label = std::nullopt, .path = BackingPath(index)};
}

}  // namespace holdfast::os
