// SPDX-License-Identifier: Apache-2.0
// Undo files: what e2fsck and resize2fs have overwritten on the unmounted filesystems of this
// node's volumes, until they have finished (fs/ext_undo.h). They survive a reboot.
#pragma once

#include <string>
#include <vector>

#include "core/volume.h"
#include "os/unique_fd.h"

namespace holdfast::state {

// Thread-safe; for one volume, callers serialise (KeyLock).
class UndoFiles final {
 public:
  // Keeps the files in the open `directory`.
  [[nodiscard]] static absl::StatusOr<UndoFiles> Open(os::UniqueFd directory);

  // Where a program that changes the volume's filesystem keeps what it overwrites
  // (fs::Filesystem::PrepareMount).
  [[nodiscard]] std::string PathFor(const VolumeId& id) const;

  // True if there is a file at PathFor or beside it: a program was killed, and the next stage needs
  // the file to take back what was done to the filesystem.
  [[nodiscard]] bool Has(const VolumeId& id) const;

  // Removes the files of a volume, durably: another node may have had the volume since, and taking
  // back now would take back what was written there. OK if there are none.
  [[nodiscard]] absl::Status Forget(const VolumeId& id) const;

  // Removes the files of a volume that does not exist any more. OK if there are none.
  [[nodiscard]] absl::Status Remove(const VolumeId& id) const;

  // The volumes that have such files. INTERNAL if the directory cannot be read.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> VolumeIds() const;

 private:
  UndoFiles(os::UniqueFd directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}
  os::UniqueFd directory_;
  std::string path_;
};

}  // namespace holdfast::state
