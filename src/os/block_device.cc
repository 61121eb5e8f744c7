// SPDX-License-Identifier: Apache-2.0
#include "os/block_device.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::os {
namespace {

constexpr Bytes kProbeSize = kMiB;

absl::StatusOr<UniqueFd> OpenNode(const std::string& path, int flags) {
  UniqueFd node(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK));
  if (node.valid()) return node;
  if (errno == ENOENT) return NotFound("there is no device node '{}'", path);
  if (errno == EBUSY) {
    return FailedPrecondition("{} is in use by a mount or another program; it was left alone",
                              path);
  }
  return OsError(errno, fmt::format("cannot open device '{}'", path));
}

bool IsZero(const char* data, std::size_t size) {
  return data[0] == 0 && std::memcmp(data, data + 1, size - 1) == 0;
}

// In pieces that stay in the processor's cache.
absl::StatusOr<bool> IsZeroFrom(int fd, Bytes offset, Bytes end, const std::string& path) {
  std::array<char, 64 * kKiB> buffer;
  while (offset < end) {
    const auto wanted = std::min(buffer.size(), static_cast<std::size_t>(end - offset));
    const ssize_t count = ::pread(fd, buffer.data(), wanted, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return OsError(count < 0 ? errno : ENODATA, fmt::format("cannot read device '{}'", path));
    }
    if (!IsZero(buffer.data(), static_cast<std::size_t>(count))) return false;
    offset += count;
  }
  return true;
}

}  // namespace

absl::StatusOr<BlockDevice> InspectBlockDevice(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd node, OpenNode(path, O_RDONLY));
  return InspectBlockDevice(node.get(), path);
}

absl::StatusOr<BlockDevice> InspectBlockDevice(int node_fd, const std::string& path) {
  struct stat facts {};
  if (::fstat(node_fd, &facts) != 0) {
    return OsError(errno, fmt::format("cannot stat device '{}'", path));
  }
  if (!S_ISBLK(facts.st_mode)) return Internal("'{}' is not a block device", path);
  std::uint64_t size = 0;
  int read_only = 0;
  if (::ioctl(node_fd, BLKGETSIZE64, &size) != 0 || ::ioctl(node_fd, BLKROGET, &read_only) != 0) {
    return OsError(errno, fmt::format("cannot read the size of device '{}'", path));
  }
  return BlockDevice{.path = path,
                     .number = facts.st_rdev,
                     .size = static_cast<Bytes>(size),
                     .read_only = read_only != 0};
}

absl::StatusOr<UniqueFd> OpenBlockDevice(const BlockDevice& device, int flags) {
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

absl::StatusOr<bool> HeadAndTailAreZero(const BlockDevice& device) {
  if (device.size <= 0) return Internal("device '{}' has no size", device.path);
  ASSIGN_OR_RETURN(const UniqueFd node, OpenBlockDevice(device, O_RDONLY));
  const Bytes length = std::min(device.size, kProbeSize);
  ASSIGN_OR_RETURN(const bool head, IsZeroFrom(node.get(), 0, length, device.path));
  if (!head) return false;
  return IsZeroFrom(node.get(), device.size - length, device.size, device.path);
}

absl::Status SetReadOnly(const BlockDevice& device, bool read_only) {
  ASSIGN_OR_RETURN(const UniqueFd node, OpenBlockDevice(device, O_RDONLY));
  const int value = read_only ? 1 : 0;
  if (::ioctl(node.get(), BLKROSET, &value) == 0) return absl::OkStatus();
  return OsError(errno, fmt::format("cannot make device '{}' {}", device.path,
                                    read_only ? "read-only" : "writable"));
}

absl::Status ZeroBlockDevice(const BlockDevice& device) {
  return ZeroBlockDevice(device, 0, device.size);
}

absl::Status ZeroBlockDevice(const BlockDevice& device, Bytes begin, Bytes size) {
  ASSIGN_OR_RETURN(const UniqueFd node, OpenBlockDevice(device, O_RDWR | O_EXCL));
  std::uint64_t range[2] = {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(size)};
  if (::ioctl(node.get(), BLKZEROOUT, range) == 0 && ::fsync(node.get()) == 0) {
    return absl::OkStatus();
  }
  return OsError(errno, fmt::format("cannot make device '{}' zero", device.path));
}

absl::Status FlushBlockDevice(const BlockDevice& device) {
  ASSIGN_OR_RETURN(const UniqueFd node, OpenBlockDevice(device, O_RDONLY));
  if (::fsync(node.get()) == 0) return absl::OkStatus();
  return OsError(errno, fmt::format("cannot flush device '{}'", device.path));
}

}  // namespace holdfast::os
