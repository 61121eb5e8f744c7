// SPDX-License-Identifier: Apache-2.0
#include "os/device_use.h"

#include <fcntl.h>

#include <utility>

#include "os/descriptor_gates.h"
#include "os/mount_table.h"

namespace holdfast::os {

absl::Status RequireUnused(const BlockDevice& device) {
  ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
  std::vector<const MountEntry*> users = mounts.OfDevice(device.number);
  const std::string node = device.path.substr(device.path.rfind('/') + 1);
  if (users.empty()) users = mounts.OfDeviceNode(node);
  if (!users.empty()) {
    return FailedPrecondition("{} is in use: it is mounted at '{}'", device.path,
                              users.front()->target);
  }
  return RequireUnclaimed(device);
}

absl::Status RequireUnclaimed(const BlockDevice& device) {
  const auto gate = HoldBackSpawns();
  // O_EXCL on a block device asks for the same claim that mounting makes (open(2)).
  return OpenBlockDevice(device, O_RDONLY | O_EXCL).status();
}

absl::StatusOr<BoundNodes> BoundNodes::Read() {
  ASSIGN_OR_RETURN(std::string text, ReadMountInfo());
  return BoundNodes(std::move(text));
}

bool BoundNodes::Has(const std::string& name) const {
  return text_.find(fmt::format("/{} ", name)) != std::string::npos ||
         text_.find(fmt::format("/{}//deleted ", name)) != std::string::npos;
}

}  // namespace holdfast::os
