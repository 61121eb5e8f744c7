// SPDX-License-Identifier: Apache-2.0
// Entries of the lists for people, from what the pools and the stage records say.
#pragma once

#include <optional>

#include "os/block_device.h"
#include "pool/pool.h"
#include "proto/admin.pb.h"
#include "server/reconciler.h"
#include "state/stage_store.h"

namespace holdfast::server {

void Describe(const pool::PoolInfo& info, const absl::StatusOr<pool::PoolUsage>& usage,
              admin::v1::Pool& described);

// `copied_to` is the volume's capacity, unless it is being copied.
void Describe(const Volume& volume, Bytes copied_to, admin::v1::Volume& described);
void DescribeCondition(const VolumeCondition& condition, admin::v1::Volume& described);
// How it is used on this node: its device, where it is staged and published, and for which pods.
void DescribeUse(const os::BlockDevice& device, const absl::StatusOr<state::StageRecord>& record,
                 admin::v1::Volume& described);

// Nothing if its use is not known.
void Describe(const Volume& snapshot, const std::optional<pool::SnapshotUse>& use,
              admin::v1::Snapshot& described);

void Describe(const pool::TrashEntry& entry, admin::v1::TrashEntry& described);

void Describe(const Reconciler::OpenLeftover& open, admin::v1::Leftover& described);

}  // namespace holdfast::server
