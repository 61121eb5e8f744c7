// SPDX-License-Identifier: Apache-2.0
#include "os/bound_nodes.h"

#include <utility>

#include "os/mount_table.h"

namespace holdfast::os {

absl::StatusOr<BoundNodes> BoundNodes::Read() {
  ASSIGN_OR_RETURN(std::string text, ReadMountInfo());
  return BoundNodes(std::move(text));
}

bool BoundNodes::Has(const std::string& name) const {
  return text_.find(fmt::format("/{} ", name)) != std::string::npos ||
         text_.find(fmt::format("/{}//deleted ", name)) != std::string::npos;
}

}  // namespace holdfast::os
