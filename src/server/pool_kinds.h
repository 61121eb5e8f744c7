// SPDX-License-Identifier: Apache-2.0
// The table of the kinds of pools that this program has.
#pragma once

#include <vector>

#include "core/config.h"
#include "os/device_owner.h"
#include "pool/pool_kind.h"

namespace holdfast::server {

// The first one is the default: `holdfast doctor` assumes it where no pool is configured. Lives as
// long as the process. Thread-safe.
[[nodiscard]] const std::vector<pool::PoolKind>& PoolKinds();

// How pools of all kinds are written, for ParseConfig and its like.
[[nodiscard]] PoolSyntaxes KnownPoolSyntaxes();

// The kind of a pool that was parsed with KnownPoolSyntaxes.
[[nodiscard]] const pool::PoolKind& KindOf(const PoolConfig& pool);

// The kinds that are configured, each once.
[[nodiscard]] std::vector<const pool::PoolKind*> KindsOf(const std::vector<PoolConfig>& pools);

// Gives back what ended volumes of any kind have left in the kernel.
void RetireIdleDevices();

// How each kind proves that a device is one of its volumes'. Kinds without a configured pool
// are included: a volume of such a pool may still be mounted.
[[nodiscard]] os::DeviceOwners DeviceOwnersOfAllKinds();

}  // namespace holdfast::server
