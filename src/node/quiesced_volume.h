// SPDX-License-Identifier: Apache-2.0
// Freezes the filesystem of a staged volume while its bytes are copied (pool/quiesce.h).
//
// No freeze is longer than the options allow, whatever happens: a child process thaws if this one
// hangs or dies (os/thaw_guard.h). Where that child dies as well, as with a container, the mark in
// the stage record makes the next stage or the reconciler thaw (node/staged_growth.h).
#pragma once

#include <chrono>
#include <functional>

#include "pool/quiesce.h"
#include "state/stage_store.h"

namespace holdfast::node {

// Hears of each freeze when it has ended: how long writers waited, and whether it lasted as long as
// it was needed. If not, it was ended in time by something else.
using FreezeObserver = std::function<void(std::chrono::steady_clock::duration lasted, bool held)>;

// As pool::Quiesce says. `stages` outlives what is returned.
[[nodiscard]] absl::StatusOr<std::unique_ptr<pool::Quiet>> QuiesceVolume(
    const state::StageStore& stages, const VolumeId& id, const os::BlockDevice& device,
    const CutOptions& options, const FreezeObserver& observer = {});

}  // namespace holdfast::node
