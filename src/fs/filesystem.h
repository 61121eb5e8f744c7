// SPDX-License-Identifier: Apache-2.0
// The interface of the filesystems that Holdfast creates: ext3, ext4, xfs, btrfs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "os/block_device.h"

namespace holdfast::fs {

struct FormatOptions {
  std::string uuid;                // the filesystem's UUID, chosen and recorded before mkfs runs
  bool keep_allocation = true;     // thick volume: mkfs must not discard the device
  std::vector<std::string> extra;  // from ParseMkfsOptions
};

struct AddressRange {
  Bytes begin = 0;
  Bytes end = 0;

  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

// Freezes the filesystem of an open directory and thaws it at once (os::FlushByFreezing), and
// records this where a kill in between must be repaired. An error when it is already frozen.
using FreezeForAMoment = std::function<absl::Status(int root_fd)>;

// Stateless, so thread-safe. Every child process is bounded in time, and formatting and checking
// share a semaphore, because a burst of new volumes must not overload the host.
class Filesystem {
 public:
  virtual ~Filesystem() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  // The smallest device that mkfs accepts and from which the filesystem can grow by any amount.
  [[nodiscard]] virtual Bytes min_size() const = 0;

  // Programs that Make, PrepareMount, ChangeUuid and Grow may start, for readiness checks.
  [[nodiscard]] virtual std::vector<std::string> programs() const = 0;

  // The Debian package of these programs, and the kernel's module that mounts the filesystem.
  [[nodiscard]] virtual std::string_view package() const = 0;
  [[nodiscard]] virtual std::string_view kernel_module() const { return name(); }

  // Creates the filesystem. The caller has proved the device blank and recorded the intent. The
  // device is flushed before OK. INTERNAL with the end of mkfs's output; UNAVAILABLE when too many
  // others are being created (here and in PrepareMount: nothing was done, repeat the call).
  [[nodiscard]] virtual absl::Status Make(const os::BlockDevice& device,
                                          const FormatOptions& options) const = 0;

  // Undoes or repairs what an interrupted PrepareMount or ChangeUuid left on an unmounted device,
  // given the same `undo_path`. OK, without any access to the device, when none was interrupted;
  // INTERNAL when that fails. btrfs: nothing, a repeated ChangeUuid goes on.
  [[nodiscard]] virtual absl::Status UndoInterrupted(const os::BlockDevice& device,
                                                     const std::string& undo_path) const = 0;

  // The steps on an unmounted, formatted device before a read-write mount. Starts no child for a
  // clean filesystem. ext: `e2fsck -p` when the superblock carries the error flag, and growth to
  // the device size when it cannot be done online for lack of CAP_SYS_RESOURCE. A growth that
  // fails, or would exceed the limits of time and space (fs/ext_growth.h), is undone and logged,
  // and the filesystem keeps its size. xfs, btrfs: nothing (the mount replays the log). Nothing is
  // done to a device that is mounted somewhere, in a pod for instance, while its staging mount is
  // missing. True if the filesystem is known to fill its device, so CanGrow need not be called.
  // FAILED_PRECONDITION when a person must repair the filesystem: the message names the program to
  // run. INTERNAL when the device cannot be read, or a growth that failed cannot be undone.
  // `undo_path` names a file that ext's programs create and remove, and that a kill leaves behind;
  // two calls must not share it.
  [[nodiscard]] virtual absl::StatusOr<bool> PrepareMount(const os::BlockDevice& device,
                                                          const std::string& undo_path) const = 0;

  // Gives an unmounted filesystem, clean or with a log to replay, another UUID, so that it can be
  // mounted beside the one that it is a copy of. Needs nothing but the device; `undo_path` as in
  // PrepareMount. A call that was interrupted may be repeated. INTERNAL when the filesystem cannot
  // be read or changed.
  [[nodiscard]] virtual absl::Status ChangeUuid(const os::BlockDevice& device,
                                                const std::string& uuid,
                                                const std::string& undo_path) const = 0;

  // Whether the filesystem, mounted at `mount_path`, is smaller than its device allows. A remainder
  // that the kernel would leave unused (less than a sensible block or allocation group) does not
  // count, so the result is false after every Grow. INTERNAL if the device is not mounted there.
  [[nodiscard]] virtual absl::StatusOr<bool> CanGrow(const os::BlockDevice& device,
                                                     const std::string& mount_path) const = 0;

  // Grows the filesystem, mounted read-write at `mount_path`, to its device and verifies the
  // result. OK if it already fills it. After OK the new size survives a power cut. For ext and xfs,
  // `freeze` is called before any step that would wait for the end of another program's freeze, and
  // for xfs, whether it had to grow or not, once more at the end; its errors are returned. btrfs is
  // never frozen: UNAVAILABLE while its growth waits for the end of another program's freeze, after
  // which it continues. FAILED_PRECONDITION when growing online is not possible here (names the
  // missing CAP_SYS_RESOURCE, or the recorded filesystem errors).
  [[nodiscard]] virtual absl::Status Grow(const os::BlockDevice& device,
                                          const std::string& mount_path,
                                          const FreezeForAMoment& freeze) const = 0;

  // True if the bytes prove that this filesystem, which was recognised on the unmounted device, was
  // never written to by a kernel that had mounted it, only by mkfs, finished or not. False when in
  // doubt: a filesystem that was never mounted may count as used, but a used one never as unused.
  // INTERNAL when the device cannot be read. Never writes.
  [[nodiscard]] virtual absl::StatusOr<bool> IsOfMkfsAlone(const os::BlockDevice& device) const = 0;

  // Whether the filesystem, mounted or not, has recorded errors. One read at most. xfs and btrfs
  // keep no such record: they stop answering instead.
  [[nodiscard]] virtual bool HasRecordedErrors(const os::BlockDevice& device) const = 0;

  // The part that the next step of a trim (os/trim.h) of the mounted filesystem is to cover, in the
  // filesystem's own addresses; it ends behind `from`. Nothing when there is none any more. ext and
  // xfs: from `from` to the size of `device`, which the caller may reduce to make steps. btrfs: the
  // whole chunk that contains `from`, or the next one. INTERNAL when that cannot be read. Needs
  // CAP_SYS_ADMIN; does not wait for the end of a freeze.
  [[nodiscard]] virtual absl::StatusOr<std::optional<AddressRange>> NextToTrim(
      int root_fd, const os::BlockDevice& device, Bytes from) const;

  // Turns the StorageClass parameter mkfsOptions into arguments: words separated by spaces, only
  // mkfs options that determine the layout of the filesystem. INVALID_ARGUMENT naming the word for
  // options that name other files or devices, change the UUID, force, or are unknown to mkfs.
  [[nodiscard]] virtual absl::StatusOr<std::vector<std::string>> ParseMkfsOptions(
      const std::string& text) const = 0;

  // INVALID_ARGUMENT if these options (from ParseMkfsOptions) ask for blocks or sectors smaller
  // than the device's logical sectors: mkfs or the mount would fail every time.
  [[nodiscard]] virtual absl::Status RequireSectors(const std::vector<std::string>&,
                                                    std::uint32_t) const {
    return absl::OkStatus();
  }
};

// The filesystem called `name` ("ext4"), valid permanently; nullptr if it is not supported.
[[nodiscard]] const Filesystem* FindFilesystem(std::string_view name);

// Waits, for seconds at most, for the end of a growth on this device that no call waits for any
// more. Call it after a thaw, because the growth keeps the mount busy.
void AwaitGrowth(dev_t device);

// Every supported name.
[[nodiscard]] std::vector<std::string> SupportedFilesystems();

// INVALID_ARGUMENT with the supported names unless `name` is one of them.
[[nodiscard]] absl::Status RequireSupported(std::string_view name);

}  // namespace holdfast::fs
