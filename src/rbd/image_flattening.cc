// SPDX-License-Identifier: Apache-2.0
#include "rbd/image_flattening.h"

#include <algorithm>

#include "core/volume.h"
#include "rbd/image_snapshots.h"

namespace holdfast::rbd {

absl::StatusOr<Bytes> ImageFlattening::Continue(const CephPool& pool, const std::string& image,
                                                Bytes size) {
  std::shared_ptr<Progress> progress;
  bool is_new = false;
  {
    const MutexLock lock(mutex_);
    const auto [entry, added] = under_way_.try_emplace(image);
    if (added) entry->second = std::make_shared<Progress>();
    progress = entry->second;
    is_new = added;
  }
  const auto flatten = [progress, image, ceph = pool.shared_from_this()] {
    progress->status =
        FlattenImage(*ceph, image, [&](Bytes reached) { progress->reached = reached; });
  };
  const absl::Status ended =
      is_new ? work_.Run(image, fmt::format("the flattening of image '{}'", image), flatten)
             : work_.Await(image);
  if (!absl::IsUnavailable(ended)) {
    const MutexLock lock(mutex_);
    under_way_.erase(image);
    RETURN_IF_ERROR(progress->status);
  }
  const Bytes most = std::max<Bytes>(size - kVolumeGranularity, 0);
  return std::min(AlignDown(progress->reached, kVolumeGranularity), most);
}

}  // namespace holdfast::rbd
