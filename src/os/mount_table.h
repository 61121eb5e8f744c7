// SPDX-License-Identifier: Apache-2.0
// What is mounted according to /proc/self/mountinfo (read by libmount), and whether it still works.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace holdfast::os {

struct MountEntry {
  int id = 0;              // unique while the mount exists; statx calls it stx_mnt_id
  int parent_id = 0;       // 0 for a mount whose parent is not in the table: the root
  std::string target;      // mount point, unescaped
  std::string root;        // the visible part of the filesystem; "/loop3" for a bound device node
  std::string filesystem;  // "ext4", "devtmpfs", ...
  std::string source;      // "/dev/loop3"
  // The block device behind it: mountinfo's number, or, where that is anonymous (btrfs), the number
  // of the source's device node. 0 when there is none.
  dev_t device = 0;
  bool read_only = false;             // this mount refuses writes (ro mount or ro filesystem)
  bool filesystem_read_only = false;  // the filesystem itself is read-only
  std::string mount_options;          // per-mount options, "rw,noatime"
  std::string filesystem_options;     // options of the filesystem
};

// A snapshot of the mounts of this process's name space, as mountinfo lists them. Immutable, so
// thread-safe.
class MountTable final {
 public:
  // An empty table.
  MountTable() = default;
  // INTERNAL when mountinfo cannot be read or parsed: a table that lacks a line is worse than none.
  [[nodiscard]] static absl::StatusOr<MountTable> Read();
  // The same from text in mountinfo's format (proc(5)), for tests and tools.
  [[nodiscard]] static absl::StatusOr<MountTable> Parse(const std::string& mountinfo);

  // The mount that is visible at exactly `target`: the topmost of a stack, and never one that is
  // hidden by a mount further up the path. nullptr if `target` is not a mount point.
  [[nodiscard]] const MountEntry* At(const std::string& target) const;

  // The mount of this id; nullptr if there is none.
  [[nodiscard]] const MountEntry* WithId(int id) const;

  // Whether both are mounted at the same path, or at the same directory visible at two paths: the
  // kernel gives the second path a copy of every mount on the first (shared mounts,
  // mount_namespaces(7)) and removes the copy with it.
  [[nodiscard]] bool AreOnePlace(const MountEntry& a, const MountEntry& b) const;

  // Every mount that shows the filesystem on block device `device`.
  [[nodiscard]] std::vector<const MountEntry*> OfDevice(dev_t device) const;

  // Every mount that shows the device node `node_name` ("loop3") itself: raw block publications.
  // The node is known by its place in the filesystem: at the top (devtmpfs, tmpfs) or below "dev".
  [[nodiscard]] std::vector<const MountEntry*> OfDeviceNode(const std::string& node_name) const;

  [[nodiscard]] const std::vector<MountEntry>& entries() const { return entries_; }

 private:
  explicit MountTable(std::vector<MountEntry> entries) : entries_(std::move(entries)) {}
  std::vector<MountEntry> entries_;
};

// The text that MountTable::Read parses; the parsing takes most of its time.
[[nodiscard]] absl::StatusOr<std::string> ReadMountInfo();

// The block device behind the filesystem that `path` is on (as MountEntry::device), without reading
// the whole mount table where stat(2) is enough. NOT_FOUND if `path` does not exist. Follows
// symbolic links.
[[nodiscard]] absl::StatusOr<dev_t> DeviceBehind(const std::string& path);

// The same of what is open (O_PATH suffices), so that no program can change what is asked about;
// `path` names it in errors.
[[nodiscard]] absl::StatusOr<dev_t> DeviceBehind(int handle, const std::string& path);

// The id (MountEntry::id) of the mount that `handle` was opened through. Asks the kernel, never the
// filesystem, which may be dead.
[[nodiscard]] absl::StatusOr<int> MountIdOf(int handle);

// What is wrong with the filesystem of the mount, as far as the kernel shows it without I/O; empty
// if nothing is known to be. Seen are: a
// filesystem that turned read-only after an error although it was mounted read-write (ext, btrfs);
// one that says that it was shut down (ext, since Linux 6.15); one whose root cannot be inspected
// any more (xfs that was shut down). An ext filesystem that was shut down on an older kernel is not
// seen: only a write would show it.
[[nodiscard]] std::string ProblemOf(const MountEntry& mount);

// The problem of a filesystem that returned an error instead of an answer.
[[nodiscard]] std::string DeadFilesystem();

}  // namespace holdfast::os
