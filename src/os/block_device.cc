// SPDX-License-Identifier: Apache-2.0
#include "os/block_device.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "os/unique_fd.h"

namespace holdfast::os {
namespace {

constexpr Bytes kProbeSize = kMiB;

absl::StatusOr<UniqueFd> OpenNode(const std::string& path, int flags) {
  UniqueFd node(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK));
  if (node.valid()) return node;
  if (errno == ENOENT) return NotFound("there is no device node '{}'", path);
  return OsError(errno, fmt::format("cannot open device '{}'", path));
}

// Opens the device and makes sure that the name still stands for it.
absl::StatusOr<UniqueFd> OpenDevice(const BlockDevice& device, int flags) {
  ASSIGN_OR_RETURN(UniqueFd node, OpenNode(device.path, flags));
  struct stat facts {};
  if (::fstat(node.get(), &facts) != 0) {
    return OsError(errno, fmt::format("cannot stat device '{}'", device.path));
  }
  if (!S_ISBLK(facts.st_mode) || facts.st_rdev != device.number) {
    return Internal("'{}' is not the device any more that it was", device.path);
  }
  return node;
}

// Reads `size` bytes at `offset`: 0, or the errno value (ENODATA at an early end).
int ReadExactly(int fd, char* buffer, Bytes size, Bytes offset) {
  for (Bytes done = 0; done < size;) {
    const ssize_t count = ::pread(fd, buffer + done, static_cast<std::size_t>(size - done),
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return ENODATA;
    done += count;
  }
  return 0;
}

bool IsZero(const char* data, Bytes size) {
  const auto length = static_cast<std::size_t>(size);
  return length == 0 || (data[0] == 0 && std::memcmp(data, data + 1, length - 1) == 0);
}

}  // namespace

absl::StatusOr<BlockDevice> InspectBlockDevice(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd node, OpenNode(path, O_RDONLY));
  struct stat facts {};
  if (::fstat(node.get(), &facts) != 0) {
    return OsError(errno, fmt::format("cannot stat device '{}'", path));
  }
  if (!S_ISBLK(facts.st_mode)) return Internal("'{}' is not a block device", path);
  std::uint64_t size = 0;
  int read_only = 0;
  if (::ioctl(node.get(), BLKGETSIZE64, &size) != 0 ||
      ::ioctl(node.get(), BLKROGET, &read_only) != 0) {
    return OsError(errno, fmt::format("cannot read the size of device '{}'", path));
  }
  return BlockDevice{.path = path,
                     .number = facts.st_rdev,
                     .size = static_cast<Bytes>(size),
                     .read_only = read_only != 0};
}

absl::StatusOr<bool> HeadAndTailAreZero(const BlockDevice& device) {
  if (device.size <= 0) return Internal("device '{}' has no size", device.path);
  ASSIGN_OR_RETURN(const UniqueFd node, OpenDevice(device, O_RDONLY));
  std::vector<char> buffer(static_cast<std::size_t>(kProbeSize));
  const Bytes length = std::min(device.size, kProbeSize);
  for (const Bytes offset : {Bytes{0}, device.size - length}) {
    if (const int error = ReadExactly(node.get(), buffer.data(), length, offset); error != 0) {
      return OsError(error, fmt::format("cannot read device '{}'", device.path));
    }
    if (!IsZero(buffer.data(), length)) return false;
  }
  return true;
}

absl::Status SetReadOnly(const BlockDevice& device, bool read_only) {
  ASSIGN_OR_RETURN(const UniqueFd node, OpenDevice(device, O_RDONLY));
  const int value = read_only ? 1 : 0;
  if (::ioctl(node.get(), BLKROSET, &value) == 0) return absl::OkStatus();
  return OsError(errno, fmt::format("cannot make device '{}' {}", device.path,
                                    read_only ? "read-only" : "writable"));
}

absl::Status FlushBlockDevice(const BlockDevice& device) {
  ASSIGN_OR_RETURN(const UniqueFd node, OpenDevice(device, O_RDONLY));
  if (::fsync(node.get()) == 0) return absl::OkStatus();
  return OsError(errno, fmt::format("cannot flush device '{}'", device.path));
}

}  // namespace holdfast::os
