// SPDX-License-Identifier: Apache-2.0
#include "fs/undo_path.h"

#include <unistd.h>

#include <filesystem>

#include "os/file.h"

namespace holdfast::fs {

absl::Status WriteAtUndoPath(const std::string& undo_path, std::string_view content) {
  const std::filesystem::path place(undo_path);
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectory(place.parent_path()));
  return os::WriteFileDurably(directory.get(), place.filename(), content);
}

absl::Status RemoveDurably(const std::string& path) {
  const std::filesystem::path place(path);
  ASSIGN_OR_RETURN(const os::UniqueFd directory, os::OpenDirectory(place.parent_path()));
  RETURN_IF_ERROR(os::RemoveFileAt(directory.get(), place.filename()));
  return os::Sync(directory.get(), place.parent_path().string());
}

absl::Status RemoveUnfinished(const std::string& undo_path) {
  const std::string temporary = undo_path + ".tmp";  // os::WriteFileDurably's
  if (::access(temporary.c_str(), F_OK) != 0) return absl::OkStatus();
  return RemoveDurably(temporary);
}

}  // namespace holdfast::fs
