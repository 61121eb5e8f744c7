// SPDX-License-Identifier: Apache-2.0
#include "state/undo_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "core/disk_names.h"
#include "os/file.h"

namespace holdfast::state {
namespace {

// The file itself, and its names while its content is written back (fs/ext_undo.cc) and while it is
// made (fs/undo_path.h).
constexpr std::array<const char*, 3> kSuffixes = {kUndoSuffix, kUsedUndoSuffix,
                                                  kTemporaryUndoSuffix};

}  // namespace

absl::StatusOr<UndoFiles> UndoFiles::Open(os::UniqueFd directory) {
  std::error_code error;
  std::string path =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", directory.get()), error);
  if (error) return OsError(error.value(), "cannot read the path of the directory of undo files");
  return UndoFiles(std::move(directory), std::move(path));
}

std::string UndoFiles::PathFor(const VolumeId& id) const {
  return fmt::format("{}/{}{}", path_, id.ToString(), kSuffixes[0]);
}

bool UndoFiles::Has(const VolumeId& id) const {
  return std::ranges::any_of(kSuffixes, [&](const char* suffix) {
    return os::ExistsAt(directory_.get(), id.ToString() + suffix);
  });
}

absl::Status UndoFiles::Forget(const VolumeId& id) const {
  if (!Has(id)) return absl::OkStatus();
  RETURN_IF_ERROR(Remove(id));
  return os::Sync(directory_.get(), path_);
}

absl::Status UndoFiles::Remove(const VolumeId& id) const {
  for (const char* const suffix : kSuffixes) {
    RETURN_IF_ERROR(os::RemoveFileAt(directory_.get(), id.ToString() + suffix));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> UndoFiles::VolumeIds() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, os::ListDirectory(directory_.get()));
  std::vector<std::string> ids;
  for (const std::string_view name : names) {
    for (const std::string_view suffix : kSuffixes) {
      if (!name.ends_with(suffix)) continue;
      std::string id(name.substr(0, name.size() - suffix.size()));
      if (VolumeId::Parse(id)) ids.push_back(std::move(id));
    }
  }
  return ids;
}

}  // namespace holdfast::state
