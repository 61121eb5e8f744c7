// SPDX-License-Identifier: Apache-2.0
// The calls about the trash.
#include "pool/awaited_pool.h"

namespace holdfast::pool {

absl::StatusOr<std::vector<TrashEntry>> AwaitedPool::ListTrash() {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->ListTrash();
}

absl::StatusOr<Volume> AwaitedPool::RestoreTrash(const TrashId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->RestoreTrash(id);
}

absl::Status AwaitedPool::PurgeTrash(const TrashId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->PurgeTrash(id);
}

absl::StatusOr<bool> AwaitedPool::TendTrash(const TrashId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->TendTrash(id);
}

}  // namespace holdfast::pool
