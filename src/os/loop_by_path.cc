// SPDX-License-Identifier: Apache-2.0
#include "os/loop_by_path.h"

#include <charconv>
#include <string_view>

#include "os/file.h"

namespace holdfast::os {
namespace {

constexpr std::string_view kPrefix = "loop";
constexpr std::string_view kDeleted = " (deleted)";

std::optional<int> IndexOf(std::string_view name) {
  int index = -1;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, index);
  return error == std::errc() && rest == end ? std::optional(index) : std::nullopt;
}

// Empty for a loop device that is not bound.
std::string BackingPath(const std::string& name) {
  const auto directory = OpenDirectory(fmt::format("/sys/block/{}/loop", name));
  if (!directory.ok()) return "";
  std::string path = ReadFileAt(directory->get(), "backing_file").value_or("");
  if (path.ends_with('\n')) path.pop_back();
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

}  // namespace

absl::StatusOr<std::optional<LoopDevice>> FindLoopByPath(const std::string& suffix) {
  ASSIGN_OR_RETURN(const UniqueFd blocks, OpenDirectory("/sys/block"));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(blocks.get()));
  std::optional<LoopDevice> found;
  for (const std::string& name : names) {
    const std::optional<int> index = IndexOf(name);
    if (!index || !BackingPath(name).ends_with(suffix)) continue;
    if (found) {
      return FailedPrecondition("both {} and /dev/{} show an image at '...{}'", found->block.path,
                                name, suffix);
    }
    ASSIGN_OR_RETURN(BlockDevice block, InspectBlockDevice("/dev/" + name));
    found = LoopDevice{.index = *index, .block = std::move(block), .direct_io = false, .label = ""};
  }
  return found;
}

}  // namespace holdfast::os
