// SPDX-License-Identifier: Apache-2.0
#include "os/mount_table.h"

#include <fcntl.h>
#include <libmount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include "os/descriptor_gates.h"
#include "os/file.h"

namespace holdfast::os {
namespace {

constexpr const char* kMountInfo = "/proc/self/mountinfo";

using Table = std::unique_ptr<libmnt_table, decltype(&mnt_unref_table)>;
using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

bool HasReadOnly(const char* options) {
  return options != nullptr && mnt_optstr_get_option(options, "ro", nullptr, nullptr) == 0;
}

// The number of a device whose node is missing in this /dev.
dev_t NumberInSysfs(const std::string& path) {
  unsigned int major = 0;
  unsigned int minor = 0;
  char colon = 0;
  std::ifstream file("/sys/class/block/" + path.substr(path.rfind('/') + 1) + "/dev");
  return file >> major >> colon >> minor ? makedev(major, minor) : 0;
}

// Looks only below /dev, where stat(2) cannot hang on a dead server.
dev_t NumberOfNode(const std::string& path) {
  struct stat node {};
  if (!path.starts_with("/dev/")) return 0;
  if (::stat(path.c_str(), &node) != 0) return NumberInSysfs(path);
  return S_ISBLK(node.st_mode) ? node.st_rdev : 0;
}

MountEntry EntryOf(libmnt_fs* fs) {
  MountEntry entry;
  entry.id = mnt_fs_get_id(fs);
  entry.parent_id = mnt_fs_get_parent_id(fs);
  entry.target = TextOf(mnt_fs_get_target(fs));
  entry.root = TextOf(mnt_fs_get_root(fs));
  entry.filesystem = TextOf(mnt_fs_get_fstype(fs));
  entry.source = TextOf(mnt_fs_get_source(fs));
  const dev_t number = mnt_fs_get_devno(fs);
  entry.device = major(number) != 0 ? number : NumberOfNode(entry.source);
  entry.mount_options = TextOf(mnt_fs_get_vfs_options(fs));
  entry.filesystem_options = TextOf(mnt_fs_get_fs_options(fs));
  entry.filesystem_read_only = HasReadOnly(mnt_fs_get_fs_options(fs));
  entry.read_only = entry.filesystem_read_only || HasReadOnly(mnt_fs_get_vfs_options(fs));
  return entry;
}

// Sets parent_id to 0 where the parent is not in the table (the root of the name space or of a
// chroot), so that a walk has a place to begin.
void MarkRoots(std::vector<MountEntry>& entries) {
  std::vector<int> ids;
  ids.reserve(entries.size());
  for (const MountEntry& entry : entries) ids.push_back(entry.id);
  std::sort(ids.begin(), ids.end());
  for (MountEntry& entry : entries) {
    const bool known = std::binary_search(ids.begin(), ids.end(), entry.parent_id);
    if (!known || entry.parent_id == entry.id) entry.parent_id = 0;
  }
}

absl::StatusOr<std::vector<MountEntry>> EntriesOf(libmnt_table* table) {
  std::vector<MountEntry> entries;
  entries.reserve(static_cast<std::size_t>(std::max(mnt_table_get_nents(table), 0)));
  const std::unique_ptr<libmnt_iter, decltype(&mnt_free_iter)> iterator(
      mnt_new_iter(MNT_ITER_FORWARD), &mnt_free_iter);
  if (iterator == nullptr) return OsError(ENOMEM, "cannot walk the mount table");
  for (libmnt_fs* fs = nullptr; mnt_table_next_fs(table, iterator.get(), &fs) == 0;) {
    entries.push_back(EntryOf(fs));
  }
  MarkRoots(entries);
  return entries;
}

// libmount skips a line that it does not understand unless this returns a negative number.
int RefuseLine(libmnt_table*, const char*, int) { return -EBADMSG; }

absl::StatusOr<Table> NewTable() {
  Table table(mnt_new_table(), &mnt_unref_table);
  if (table == nullptr) return OsError(ENOMEM, "cannot make a mount table");
  mnt_table_set_parser_errcb(table.get(), &RefuseLine);
  return table;
}

bool IsOnPath(const std::string& mount_point, const std::string& path) {
  if (mount_point == "/") return true;
  return path.starts_with(mount_point) &&
         (path.size() == mount_point.size() || path[mount_point.size()] == '/');
}

// The mount on the mount `parent_id` that a walk along `path` meets first.
const MountEntry* NextOnPath(const std::vector<MountEntry>& entries, int parent_id,
                             const std::string& path) {
  const MountEntry* next = nullptr;
  for (const MountEntry& entry : entries) {
    if (entry.parent_id != parent_id || !IsOnPath(entry.target, path)) continue;
    if (next == nullptr || entry.target.size() <= next->target.size()) next = &entry;
  }
  return next;
}

// Where in its filesystem the mount point of `entry` is.
std::string PlaceIn(const MountEntry& parent, const MountEntry& entry) {
  const std::string below =
      parent.target == "/" ? entry.target : entry.target.substr(parent.target.size());
  return parent.root == "/" ? below : parent.root + below;
}

absl::StatusOr<dev_t> DeviceOf(int base, const char* name, int flags, const std::string& path) {
  struct statx facts {};
  if (::statx(base, name, flags | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_MNT_ID, &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound("'{}' does not exist", path);
    return OsError(errno, fmt::format("cannot inspect '{}'", path));
  }
  if (facts.stx_dev_major != 0) return makedev(facts.stx_dev_major, facts.stx_dev_minor);
  ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
  const MountEntry* const entry = mounts.WithId(static_cast<int>(facts.stx_mnt_id));
  if (entry != nullptr) return entry->device;
  return Internal("the mount that '{}' is on is not in the mount table", path);
}

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

absl::StatusOr<MountTable> MountTable::Read() {
  ASSIGN_OR_RETURN(const Table table, NewTable());
  const int rc = mnt_table_parse_file(table.get(), kMountInfo);
  if (rc != 0) return OsError(-rc, fmt::format("cannot read '{}'", kMountInfo));
  ASSIGN_OR_RETURN(std::vector<MountEntry> entries, EntriesOf(table.get()));
  return MountTable(std::move(entries));
}

absl::StatusOr<MountTable> MountTable::Parse(const std::string& mountinfo) {
  if (mountinfo.empty()) return MountTable();  // fmemopen(3) takes no empty buffer everywhere
  ASSIGN_OR_RETURN(const Table table, NewTable());
  std::string text = mountinfo;
  const File stream(::fmemopen(text.data(), text.size(), "r"), &std::fclose);
  if (stream == nullptr) return OsError(errno, "cannot read a mount table from memory");
  const int rc = mnt_table_parse_stream(table.get(), stream.get(), kMountInfo);
  if (rc != 0) return OsError(-rc, "cannot understand a mount table");
  ASSIGN_OR_RETURN(std::vector<MountEntry> entries, EntriesOf(table.get()));
  return MountTable(std::move(entries));
}

const MountEntry* MountTable::At(const std::string& target) const {
  const MountEntry* seen = nullptr;
  int parent_id = 0;
  // No walk is longer than the table, even if the table has a cycle.
  for (std::size_t step = 0; step < entries_.size(); ++step) {
    const MountEntry* const next = NextOnPath(entries_, parent_id, target);
    if (next == nullptr) break;
    seen = next;
    parent_id = next->id;
  }
  return seen != nullptr && seen->target == target ? seen : nullptr;
}

const MountEntry* MountTable::WithId(int id) const {
  const auto found = std::ranges::find(entries_, id, &MountEntry::id);
  return found == entries_.end() ? nullptr : &*found;
}

bool MountTable::AreOnePlace(const MountEntry& a, const MountEntry& b) const {
  if (a.target == b.target) return true;
  const MountEntry* const above_a = WithId(a.parent_id);
  const MountEntry* const above_b = WithId(b.parent_id);
  return above_a != nullptr && above_b != nullptr && above_a->filesystem == above_b->filesystem &&
         above_a->source == above_b->source && above_a->device == above_b->device &&
         PlaceIn(*above_a, a) == PlaceIn(*above_b, b);
}

std::vector<const MountEntry*> MountTable::OfDevice(dev_t device) const {
  std::vector<const MountEntry*> found;
  for (const MountEntry& entry : entries_) {
    if (device != 0 && entry.device == device) found.push_back(&entry);
  }
  return found;
}

std::vector<const MountEntry*> MountTable::OfDeviceNode(const std::string& node_name) const {
  std::vector<const MountEntry*> found;
  for (const MountEntry& entry : entries_) {
    std::string_view root = entry.root;
    // The kernel's mark for a node whose name is gone while the bind holds it.
    constexpr std::string_view kDeleted = "//deleted";
    if (root.ends_with(kDeleted)) root.remove_suffix(kDeleted.size());
    if (root == "/" + node_name || root.ends_with("/dev/" + node_name)) found.push_back(&entry);
  }
  return found;
}

absl::StatusOr<std::string> ReadMountInfo() {
  const UniqueFd file(::open(kMountInfo, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return OsError(errno, fmt::format("cannot open '{}'", kMountInfo));
  std::string text;
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t size = ::read(file.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return OsError(errno, fmt::format("cannot read '{}'", kMountInfo));
    if (size == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
}

absl::StatusOr<dev_t> DeviceBehind(const std::string& path) {
  return DeviceOf(AT_FDCWD, path.c_str(), 0, path);
}

absl::StatusOr<dev_t> DeviceBehind(int handle, const std::string& path) {
  return DeviceOf(handle, "", AT_EMPTY_PATH, path);
}

absl::StatusOr<int> MountIdOf(int handle) {
  ASSIGN_OR_RETURN(const UniqueFd directory, OpenDirectory("/proc/self/fdinfo"));
  ASSIGN_OR_RETURN(const std::string text, ReadFileAt(directory.get(), std::to_string(handle)));
  constexpr std::string_view kKey = "mnt_id:";  // proc(5), since Linux 3.15
  const std::size_t key = text.find(kKey);
  const std::size_t number = text.find_first_not_of(" \t", key + kKey.size());
  int id = 0;
  if (key == std::string::npos || number == std::string::npos ||
      std::from_chars(text.data() + number, text.data() + text.size(), id).ec != std::errc()) {
    return Internal("the kernel does not tell the mount of an open file");
  }
  return id;
}

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
