// SPDX-License-Identifier: Apache-2.0
// The commands about the trash of this instance's own pools.
#pragma once

#include <string>

#include "core/key_lock.h"
#include "core/trash_id.h"
#include "pool/pools.h"
#include "proto/admin.pb.h"

namespace holdfast::server {

// The id of the entry. INVALID_ARGUMENT if it is none.
[[nodiscard]] absl::StatusOr<TrashId> EntryIn(const admin::v1::TrashRequest& request);

// Thread-safe. Errors as Pool::RestoreTrash; FAILED_PRECONDITION if the pool is not here.
class OwnTrash final {
 public:
  // All outlive it.
  OwnTrash(const pool::Pools& pools, KeyLock& volume_locks, std::string driver_name)
      : pools_(pools), volume_locks_(volume_locks), driver_name_(std::move(driver_name)) {}

  [[nodiscard]] absl::Status Restore(const TrashId& id,
                                     admin::v1::RestoreTrashResponse& response) const;
  [[nodiscard]] absl::Status Purge(const TrashId& id) const;

 private:
  const pool::Pools& pools_;
  KeyLock& volume_locks_;
  const std::string driver_name_;
};

}  // namespace holdfast::server
