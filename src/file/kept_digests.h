// SPDX-License-Identifier: Apache-2.0
// The tables of digests of deleted snapshots, in a directory of the pool, so that a backup program
// may delete the previous snapshot before it asks what has changed since (docs/adr/0031). A file's
// name says of which snapshot and which volume it is; its header has to say the same.
//
// A table is of the last snapshot of its UUID: it is put there, or the one of an earlier snapshot
// is removed, before the image of a deleted snapshot is unlinked. So it is believed only when the
// snapshot's directory is gone, and no image of another one is in the trash.
//
// All functions may be called at any time; that of one snapshot serialise its keeping (KeyLock).
// To remove a table is never wrong: without it a comparison is refused.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "file/digest_table.h"

namespace holdfast::file {

// Of each volume; those that were made last stay. A backup program needs that of the last backup.
inline constexpr std::size_t kMostKeptTables = 4;

// Both are UUIDs.
struct KeptTable {
  std::string snapshot;
  std::string volume;

  friend bool operator==(const KeptTable&, const KeptTable&) = default;
};

// By snapshot. Other names in the directory are left out. `root_fd` is the pool's directory.
[[nodiscard]] absl::StatusOr<std::vector<KeptTable>> ListKeptTables(int root_fd);

// Nothing if there is none, or a damaged one.
[[nodiscard]] absl::StatusOr<std::optional<DigestTable>> OpenKeptTable(int root_fd,
                                                                       const std::string& snapshot);

// For a snapshot of which `directory_fd` in the trash still has the image: keeps its table if it
// has one, and removes that of an earlier snapshot of its UUID, durably. Without an image nothing
// is changed: it was done before. A table that cannot be kept is given up. INTERNAL: an earlier one
// may still be there.
[[nodiscard]] absl::Status KeepTable(int root_fd, int directory_fd, const std::string& snapshot);

// Whether nothing is in the trash under the snapshot's UUID but what is left of that very snapshot.
[[nodiscard]] absl::StatusOr<bool> IsOfWhatIsInTrash(const DigestTable& kept, int trash_fd);

// Removes those of that UUID, durably: another snapshot is made.
[[nodiscard]] absl::Status RemoveKeptTablesOf(int root_fd, const std::string& snapshot);

// Those that no question can need: of volumes that are not among `volumes`, or too many of one.
[[nodiscard]] absl::StatusOr<std::vector<KeptTable>> FindUnneededTables(
    int root_fd, const std::set<std::string>& volumes);
[[nodiscard]] absl::Status RemoveKeptTable(int root_fd, const KeptTable& table);

// Whether there is an empty directory of tables, as a kill may leave it.
[[nodiscard]] bool HasEmptyTableDirectory(int root_fd);
void RemoveEmptyTableDirectory(int root_fd);

}  // namespace holdfast::file
