// SPDX-License-Identifier: Apache-2.0
#include "server/pool_kinds.h"

#include <algorithm>

#include "file/file_kind.h"
#include "rbd/rbd_kind.h"

namespace holdfast::server {

const std::vector<pool::PoolKind>& PoolKinds() {
  static const std::vector<pool::PoolKind> kinds = {file::FileKind(), rbd::RbdKind()};
  return kinds;
}

PoolSyntaxes KnownPoolSyntaxes() {
  static const std::vector<const PoolSyntax*> syntaxes = [] {
    std::vector<const PoolSyntax*> all;
    std::ranges::transform(PoolKinds(), std::back_inserter(all), &pool::PoolKind::syntax);
    return all;
  }();
  return syntaxes;
}

const pool::PoolKind& KindOf(const PoolConfig& pool) {
  return *std::ranges::find(PoolKinds(), pool.syntax, &pool::PoolKind::syntax);
}

std::vector<const pool::PoolKind*> KindsOf(const std::vector<PoolConfig>& pools) {
  std::vector<const pool::PoolKind*> used;
  for (const pool::PoolKind& kind : PoolKinds()) {
    if (std::ranges::count(pools, kind.syntax, &PoolConfig::syntax) > 0) used.push_back(&kind);
  }
  return used;
}

void RetireIdleDevices() {
  for (const pool::PoolKind& kind : PoolKinds()) {
    if (kind.retire_idle_devices != nullptr) kind.retire_idle_devices();
  }
}

os::DeviceOwners DeviceOwnersOfAllKinds() {
  std::vector<os::DeviceProof> proofs;
  std::ranges::transform(PoolKinds(), std::back_inserter(proofs), &pool::PoolKind::proof);
  return os::DeviceOwners(std::move(proofs));
}

}  // namespace holdfast::server
