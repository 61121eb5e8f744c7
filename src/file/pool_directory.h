// SPDX-License-Identifier: Apache-2.0
// The directory of a file pool, and the proof that it is the right one.
//
//   <pool>/holdfast-pool.json      marker: pool id and identity of the filesystem, written once
//   <pool>/lock                    held by the one process that serves the pool, which also holds a
//                                  lock on the directory itself: no program can remove that one
//   <pool>/volumes/<uuid>/         record.json, image
//   <pool>/trash/<uuid>/           what a deletion still has to remove
//
// A disk that is not mounted, or another one, shows a directory without the marker or with another
// one: then nothing is made, deleted or staged. All of it is one filesystem: a volume is deleted by
// a rename, and a filesystem of its own below the pool could be missing while the marker is there.
#pragma once

#include <string>

#include "core/disk_names.h"
#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::file {

struct PoolMarker {
  std::string text;        // the file's exact content
  std::string pool_id;     // a UUID
  std::string filesystem;  // os::FilesystemIdentity of where it was written
};

// The marker in the open directory; the state directory keeps copies under other names. NOT_FOUND
// if there is none, INTERNAL if it is damaged.
[[nodiscard]] absl::StatusOr<PoolMarker> ReadPoolMarker(int directory_fd,
                                                        const std::string& name = kPoolMarkerName);

// Writes it, durably.
[[nodiscard]] absl::StatusOr<PoolMarker> WritePoolMarker(int directory_fd,
                                                         const std::string& pool_id,
                                                         const std::string& filesystem);

// The first name that keeps a directory without a marker from becoming a new pool, because
// something else lives there; empty if nothing does.
[[nodiscard]] absl::StatusOr<std::string> FindForeignName(int directory_fd);

// Open directories of a verified pool, valid as long as its PoolDirectory: work through them cannot
// land on another filesystem, even if one is mounted over the path.
struct VerifiedPool {
  int root = -1;
  int volumes = -1;
  int trash = -1;
};

// Immutable after Open, so thread-safe.
class PoolDirectory final {
 public:
  struct Options {
    std::string name;  // of the pool
    std::string path;
    bool accept_move = false;  // take a marker written on another filesystem, and rewrite it
    // Make a new pool in an empty directory. Not for later attempts: an administrator may be about
    // to mount the pool's disk over that directory.
    bool may_make = true;
  };

  // The id under which the state directory knows the pool of that name; empty if it knows none.
  [[nodiscard]] static absl::StatusOr<std::string> KnownId(const std::string& name,
                                                           int state_directory_fd);

  // Opens the pool at `path`, or makes a new one there if the directory is empty (lost+found does
  // not count) and `state_directory_fd` knows of no pool of that name. The pool's id is remembered
  // in the state directory, which distinguishes an unmounted disk from the first use.
  //   FAILED_PRECONDITION  marker missing, or of another pool, or on another filesystem than it was
  //                        written on; directory missing, or not empty; what is below it is on
  //                        another filesystem
  //   ABORTED              served by another process, or as another pool of this one
  //   INVALID_ARGUMENT     it is the state directory
  [[nodiscard]] static absl::StatusOr<PoolDirectory> Open(const Options& options,
                                                          int state_directory_fd);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& pool_id() const { return pool_id_; }

  // Looks again whether the path still leads to the pool that was opened, with the marker that was
  // read. FAILED_PRECONDITION if not.
  [[nodiscard]] absl::StatusOr<VerifiedPool> Verify() const;

 private:
  PoolDirectory() = default;
  [[nodiscard]] absl::Status Hold();

  std::string path_;
  std::string marker_;  // the marker's exact text
  std::string pool_id_;
  os::UniqueFd lock_;
  os::UniqueFd root_;
  os::UniqueFd volumes_;
  os::UniqueFd trash_;
};

}  // namespace holdfast::file
