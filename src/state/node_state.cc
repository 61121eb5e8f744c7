// SPDX-License-Identifier: Apache-2.0
#include "state/node_state.h"

#include "core/disk_names.h"
#include "os/file.h"

namespace holdfast::state {
namespace {

constexpr int kPrivate = 0700;

}  // namespace

absl::StatusOr<NodeState> NodeState::Open(int state_directory_fd) {
  RETURN_IF_ERROR(os::MakeDirectoryAt(state_directory_fd, kStagesName, kPrivate));
  ASSIGN_OR_RETURN(os::UniqueFd records, os::OpenDirectoryAt(state_directory_fd, kStagesName));
  ASSIGN_OR_RETURN(os::UniqueFd undo_files, os::OpenDirectoryAt(state_directory_fd, kStagesName));
  ASSIGN_OR_RETURN(StageStore stages, StageStore::Open(std::move(records)));
  ASSIGN_OR_RETURN(UndoFiles undo, UndoFiles::Open(std::move(undo_files)));
  return NodeState{std::move(stages), std::move(undo)};
}

absl::StatusOr<std::vector<std::string>> NodeState::VolumeIds() const {
  ASSIGN_OR_RETURN(std::vector<std::string> ids, stages.VolumeIds());
  ASSIGN_OR_RETURN(const std::vector<std::string> undone, undo.VolumeIds());
  ids.insert(ids.end(), undone.begin(), undone.end());
  return ids;
}

absl::Status NodeState::RemoveAll(const std::string& volume_id) const {
  RETURN_IF_ERROR(stages.Remove(volume_id));
  const std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  return id ? undo.Remove(*id) : absl::OkStatus();
}

}  // namespace holdfast::state
