// SPDX-License-Identifier: Apache-2.0
// What a node may say of its pools.
#pragma once

#include "core/bytes.h"
#include "core/status.h"
#include "link/volume_names.h"
#include "proto/link.pb.h"

namespace holdfast::link {

// Pools of one node at most.
inline constexpr int kMaxPoolsOfNode = 64;
// Undecided snapshots that it names at most.
inline constexpr int kMaxUndecidedOfNode = 32;
// More room than this (1 PiB) is not believed: a sum over thousands of nodes stays within what a
// number holds.
inline constexpr Bytes kMaxRoom = Bytes{1} << 50;

// Refuses what cannot be: INVALID_ARGUMENT for too many pools, a name that is not a pool's or comes
// twice, or a storage id that is not a UUID (empty is one that is not known, of a pool with a
// problem); also for an undecided snapshot that cannot be, or too many of them. Implausible values
// are corrected: sizes are brought between 0 and kMaxRoom, a default filesystem that is not a word
// is left out, the text of a problem is cleaned and cut.
[[nodiscard]] absl::Status CheckPools(v1::Pools& pools);

[[nodiscard]] PoolIds IdsOf(const v1::Pools& pools);

}  // namespace holdfast::link
