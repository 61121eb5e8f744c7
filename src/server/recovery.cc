// SPDX-License-Identifier: Apache-2.0
#include "server/recovery.h"

namespace holdfast::server {

absl::Status RecoverPools(const pool::Pools& pools) {
  for (pool::Pool* const pool : pools.all()) {
    RETURN_IF_ERROR(Annotate(pool->Recover(), fmt::format("pool '{}'", pool->info().name)));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::server
