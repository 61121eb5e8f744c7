// SPDX-License-Identifier: Apache-2.0
#include "rbd/image_removals.h"

#include <memory>

#include "core/log.h"
#include "rbd/image.h"

namespace holdfast::rbd {
namespace {

bool IsThere(const CephPool& pool, const std::string& name) {
  const auto facts = InspectImage(pool, name);
  return !facts.ok() || facts->has_value();
}

}  // namespace

absl::Status ImageRemovals::Remove(const CephPool& pool, const std::string& name) {
  const absl::Status idle = removals_.Await(name);
  if (!idle.ok()) {
    if (IsThere(pool, name)) return idle;
    // A removal that outlives its image will never end.
    LogWarning("librbd does not come back from removing image '{}'; asking it again", name);
    removals_.Forget(name);
  }
  const auto removed = std::make_shared<absl::Status>();
  RETURN_IF_ERROR(removals_.Run(
      name, fmt::format("the removal of image '{}'", name),
      [removed, name, pool = pool.shared_from_this()] { *removed = RemoveImage(*pool, name); }));
  return *removed;
}

}  // namespace holdfast::rbd
