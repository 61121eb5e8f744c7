// SPDX-License-Identifier: Apache-2.0
#include "file/pool_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "core/checked_json.h"
#include "core/clock.h"
#include "core/disk_names.h"
#include "core/volume_id.h"
#include "os/file.h"
#include "os/host_filesystem.h"

namespace holdfast::file {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;

// What mkfs puts there, and what a first start leaves that died before the marker had its name.
constexpr std::array<std::string_view, 3> kHarmless = {"lost+found", kPoolLockName,
                                                       kTemporaryMarkerName};

constexpr int kDirectoryMode = 0700;

// The id under which the state directory knows the pool; empty if it does not.
absl::StatusOr<std::string> KnownPoolId(int known_pools_fd, const std::string& name) {
  const auto known = ReadPoolMarker(known_pools_fd, name + ".json");
  if (absl::IsNotFound(known.status())) return std::string();
  RETURN_IF_ERROR(
      Annotate(known.status(), fmt::format("the state directory's copy of the pool marker, "
                                           "'pools/{}.json'",
                                           name)));
  return known->pool_id;
}

// A directory without a marker may become a pool only if nothing else lives there.
absl::Status RequireUsable(int root_fd, const std::string& path, const std::string& known_id,
                           bool may_make) {
  const auto marker = ReadPoolMarker(root_fd);
  if (!absl::IsNotFound(marker.status())) {
    return Annotate(marker.status(), fmt::format("'{}/{}'", path, kPoolMarkerName));
  }
  if (!known_id.empty()) {
    return FailedPrecondition(
        "directory '{}' has no pool marker, but pool {} was there before: is its disk mounted?",
        path, known_id);
  }
  ASSIGN_OR_RETURN(const std::string foreign, FindForeignName(root_fd));
  if (foreign.empty() && !may_make) {
    return FailedPrecondition(
        "directory '{}' is empty, and a new pool is made only when Holdfast starts: mount the "
        "pool's disk there if it has one, then start Holdfast again",
        path);
  }
  if (foreign.empty()) return absl::OkStatus();
  return FailedPrecondition(
      "directory '{}' has no pool marker and is not empty ('{}'): a new pool needs an empty "
      "directory, an old one its disk mounted there",
      path, foreign);
}

absl::Status RequireNotState(int root_fd, int state_directory_fd,
                             const PoolDirectory::Options& pool) {
  struct stat root {};
  struct stat state {};
  if (::fstat(root_fd, &root) != 0 || ::fstat(state_directory_fd, &state) != 0) {
    return OsError(errno, fmt::format("cannot stat directory '{}'", pool.path));
  }
  if (root.st_dev != state.st_dev || root.st_ino != state.st_ino) return absl::OkStatus();
  return InvalidArgument(
      "'{}' is the state directory and the directory of pool '{}': give each a directory of its "
      "own (--state-dir, --pool)",
      pool.path, pool.name);
}

// The caller holds the lock and has seen that the directory is usable.
absl::StatusOr<PoolMarker> ReadOrWriteMarker(int root_fd, const std::string& path) {
  auto marker = ReadPoolMarker(root_fd);
  if (!absl::IsNotFound(marker.status())) return marker;
  if (::fchmod(root_fd, kDirectoryMode) != 0) {
    return OsError(errno,
                   fmt::format("pool directory '{}' must belong to the driver's user (root), "
                               "which restricts it to itself",
                               path));
  }
  ASSIGN_OR_RETURN(const std::string filesystem, os::FilesystemIdentity(root_fd));
  return WritePoolMarker(root_fd, RandomUuid(), filesystem);
}

// That `name` below `directory_fd` (AT_FDCWD: a path) leads to what `held` has open.
absl::Status RequireSame(int directory_fd, const std::string& name, int held) {
  struct stat seen {};
  struct stat known {};
  if (::fstatat(directory_fd, name.c_str(), &seen, 0) != 0 || ::fstat(held, &known) != 0) {
    return OsError(errno, fmt::format("cannot stat '{}'", name));
  }
  if (seen.st_dev == known.st_dev && seen.st_ino == known.st_ino) return absl::OkStatus();
  return FailedPrecondition("something else is at '{}'; if it is mounted there, unmount it", name);
}

absl::Status RequireMarker(int root_fd, const std::string& text) {
  ASSIGN_OR_RETURN(const std::string found, os::ReadFileAt(root_fd, kPoolMarkerName));
  return found == text ? absl::OkStatus() : FailedPrecondition("its marker is another one");
}

absl::Status WrongFilesystem(const std::string& path, const PoolMarker& marker,
                             const std::string& filesystem) {
  return FailedPrecondition(
      "pool marker in '{}' was written on filesystem {}, but this is {}: if the pool was moved "
      "here "
      "on purpose, start once with --accept-moved-pool",
      path, marker.filesystem, filesystem);
}

}  // namespace

absl::StatusOr<PoolMarker> ReadPoolMarker(int directory_fd, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string text, os::ReadFileAt(directory_fd, name));
  ASSIGN_OR_RETURN(const json object, DecodeChecked(text, kSchemaVersion, "pool marker"));
  try {
    PoolMarker marker{.text = text,
                      .pool_id = object.at("pool_id").get<std::string>(),
                      .filesystem = object.at("filesystem").get<std::string>()};
    if (IsUuid(marker.pool_id)) return marker;
  } catch (const json::exception&) {
  }
  return Internal("pool marker is damaged: no pool id");
}

absl::StatusOr<PoolMarker> WritePoolMarker(int directory_fd, const std::string& pool_id,
                                           const std::string& filesystem) {
  const std::string text = EncodeChecked(
      json{{"pool_id", pool_id}, {"filesystem", filesystem}, {"created_at", NowRfc3339()}},
      kSchemaVersion);
  RETURN_IF_ERROR(os::WriteFileDurably(directory_fd, kPoolMarkerName, text));
  return PoolMarker{.text = text, .pool_id = pool_id, .filesystem = filesystem};
}

absl::StatusOr<std::string> FindForeignName(int directory_fd) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(directory_fd));
  const auto foreign = std::ranges::find_if(names, [](const std::string& name) {
    return std::ranges::find(kHarmless, name) == kHarmless.end();
  });
  return foreign == names.end() ? std::string() : *foreign;
}

absl::StatusOr<std::string> PoolDirectory::KnownId(const std::string& name,
                                                   int state_directory_fd) {
  const auto known_pools = os::OpenDirectoryAt(state_directory_fd, kKnownPoolsName);
  if (absl::IsNotFound(known_pools.status())) return std::string();
  RETURN_IF_ERROR(known_pools.status());
  return KnownPoolId(known_pools->get(), name);
}

absl::StatusOr<PoolDirectory> PoolDirectory::Open(const Options& options, int state_directory_fd) {
  const auto& [name, path, accept_move, may_make] = options;
  RETURN_IF_ERROR(os::MakeDirectoryAt(state_directory_fd, kKnownPoolsName, kDirectoryMode));
  ASSIGN_OR_RETURN(const os::UniqueFd known_pools,
                   os::OpenDirectoryAt(state_directory_fd, kKnownPoolsName));
  ASSIGN_OR_RETURN(const std::string known_id, KnownPoolId(known_pools.get(), name));
  auto opened = os::OpenDirectory(path);
  if (!opened.ok()) {
    std::error_code error;
    const bool is_other =
        std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
    return FailedPrecondition(
        "pool '{}': {}; {}", name, MessageOf(opened.status()),
        is_other ? "name a directory" : "make the directory, or mount its disk");
  }
  os::UniqueFd root = *std::move(opened);
  RETURN_IF_ERROR(RequireNotState(root.get(), state_directory_fd, options));
  RETURN_IF_ERROR(RequireUsable(root.get(), path, known_id, may_make));
  auto lock = os::LockDirectory(root.get(), kPoolLockName);
  if (absl::IsFailedPrecondition(lock.status())) {
    return Aborted("pool directory '{}' is served already ({})", path, MessageOf(lock.status()));
  }
  RETURN_IF_ERROR(Annotate(lock.status(), fmt::format("pool directory '{}'", path)));
  ASSIGN_OR_RETURN(PoolMarker marker, ReadOrWriteMarker(root.get(), path));
  if (!known_id.empty() && known_id != marker.pool_id) {
    return FailedPrecondition("directory '{}' carries pool {}, but pool '{}' is {}: wrong disk?",
                              path, marker.pool_id, name, known_id);
  }
  ASSIGN_OR_RETURN(const std::string filesystem, os::FilesystemIdentity(root.get()));
  if (filesystem != marker.filesystem) {
    if (!accept_move) return WrongFilesystem(path, marker, filesystem);
    ASSIGN_OR_RETURN(marker, WritePoolMarker(root.get(), marker.pool_id, filesystem));
  }
  PoolDirectory pool;
  pool.path_ = path;
  pool.marker_ = marker.text;
  pool.pool_id_ = marker.pool_id;
  pool.lock_ = *std::move(lock);
  pool.root_ = std::move(root);
  RETURN_IF_ERROR(pool.Hold());
  if (known_id.empty()) {
    RETURN_IF_ERROR(os::WriteFileDurably(known_pools.get(), name + ".json", marker.text));
  }
  return pool;
}

absl::Status PoolDirectory::Hold() {
  RETURN_IF_ERROR(os::MakeDirectoryAt(root_.get(), kVolumesName, kDirectoryMode));
  RETURN_IF_ERROR(os::MakeDirectoryAt(root_.get(), kTrashName, kDirectoryMode));
  RETURN_IF_ERROR(os::Sync(root_.get(), path_));
  ASSIGN_OR_RETURN(volumes_, os::OpenDirectoryAt(root_.get(), kVolumesName));
  ASSIGN_OR_RETURN(trash_, os::OpenDirectoryAt(root_.get(), kTrashName));
  return absl::OkStatus();
}

absl::StatusOr<VerifiedPool> PoolDirectory::Verify() const {
  absl::Status same = RequireSame(AT_FDCWD, path_, root_.get());
  if (same.ok()) same = RequireMarker(root_.get(), marker_);
  if (same.ok()) same = RequireSame(root_.get(), kVolumesName, volumes_.get());
  if (same.ok()) same = RequireSame(root_.get(), kTrashName, trash_.get());
  if (same.ok()) return VerifiedPool{root_.get(), volumes_.get(), trash_.get()};
  return FailedPrecondition("pool directory '{}' is not the one that was opened ({}): {}", path_,
                            pool_id_, MessageOf(same));
}

}  // namespace holdfast::file
