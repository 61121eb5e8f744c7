// SPDX-License-Identifier: Apache-2.0
// What is kept at the undo path of a volume (Filesystem::PrepareMount) while a program changes its
// unmounted filesystem.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace holdfast::fs {

// Makes the file `undo_path`, durably. A kill leaves the whole file, none, or one that
// RemoveUnfinished removes. INTERNAL when it cannot be written.
[[nodiscard]] absl::Status WriteAtUndoPath(const std::string& undo_path, std::string_view content);

// Removes the file `path`, durably; OK if there is none. INTERNAL when it cannot be removed.
[[nodiscard]] absl::Status RemoveDurably(const std::string& path);

// Removes what a kill left of a WriteAtUndoPath that had not made the file. INTERNAL as above.
[[nodiscard]] absl::Status RemoveUnfinished(const std::string& undo_path);

}  // namespace holdfast::fs
