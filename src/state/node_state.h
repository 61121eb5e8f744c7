// SPDX-License-Identifier: Apache-2.0
// What this node keeps about its volumes in the state directory, beside the pools' records: how
// each is staged, and the undo files of filesystem programs.
#pragma once

#include <string>
#include <vector>

#include "state/stage_store.h"
#include "state/undo_files.h"

namespace holdfast::state {

// Thread-safe; for one volume, callers serialise (KeyLock).
struct NodeState {
  StageStore stages;
  UndoFiles undo;

  // Works in `<state directory>/stages`, which it makes.
  [[nodiscard]] static absl::StatusOr<NodeState> Open(int state_directory_fd);

  // The volumes that have a stage record or an undo file; one with both comes twice. INTERNAL if
  // the directory cannot be read.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> VolumeIds() const;

  // Removes everything of a volume that does not exist any more. OK if there is nothing.
  [[nodiscard]] absl::Status RemoveAll(const std::string& volume_id) const;
};

}  // namespace holdfast::state
