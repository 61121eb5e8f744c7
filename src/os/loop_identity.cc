// SPDX-License-Identifier: Apache-2.0
#include "os/loop_identity.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <string_view>

#include "os/file.h"
#include "os/loop_number.h"

namespace holdfast::os {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

std::string BackingPath(int index) {
  const auto directory = OpenDirectory(fmt::format("/sys/block/loop{}/loop", index));
  if (!directory.ok()) return "";
  std::string path = ReadFileAt(directory->get(), "backing_file").value_or("");
  if (path.ends_with('\n')) path.pop_back();
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

}  // namespace

std::vector<LoopLabel> LoopLabels(const std::string& prefix) {
  std::vector<LoopLabel> labels;
  for (const int index : LoopNumbers()) {
    if (!IsBound(index)) continue;
    const auto identity = IdentifyLoop(index);
    if (!identity.ok() || !*identity || !(*identity)->label) continue;
    if ((*identity)->label->starts_with(prefix)) labels.push_back({index, *(*identity)->label});
  }
  return labels;
}

absl::StatusOr<std::vector<LoopDevice>> FindLoopsByLabel(const std::string& label) {
  std::vector<LoopDevice> found;
  for (const LoopLabel& loop : LoopLabels(label)) {
    if (loop.label != label) continue;
    ASSIGN_OR_RETURN(BlockDevice block, InspectBlockDevice(LoopPath(loop.index)));
    found.push_back(
        LoopDevice{.index = loop.index, .block = std::move(block), .label = loop.label});
  }
  return found;
}

absl::StatusOr<std::optional<LoopIdentity>> IdentifyLoop(int index) {
  const UniqueFd node = OpenLoop(index, O_RDONLY);
  loop_info64 info{};
  if (node.valid() && ::ioctl(node.get(), LOOP_GET_STATUS64, &info) == 0) {
    return LoopIdentity{.label = LabelOf(info), .path = ""};
  }
  if (errno == ENXIO || errno == ENOENT || errno == ENODEV) return std::nullopt;
  if (!node.valid() || !IsOutOfReach(errno)) {
    return OsError(errno, fmt::format("cannot inspect '{}'", LoopPath(index)));
  }
  return LoopIdentity{.label = std::nullopt, .path = BackingPath(index)};
}

}  // namespace holdfast::os
