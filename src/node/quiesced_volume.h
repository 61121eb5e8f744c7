// SPDX-License-Identifier: Apache-2.0
// Freezes the filesystem of a staged volume while its bytes are copied (pool/quiesce.h).
//
// No freeze is longer than the options allow, whatever happens: a child process thaws if this one
// hangs or dies (os/thaw_guard.h). Where that child dies as well, as with a container, the mark in
// the stage record makes the next stage or the reconciler thaw (node/staged_growth.h).
#pragma once

#include "pool/quiesce.h"
#include "state/stage_store.h"

namespace holdfast::node {

// As pool::Quiesce says. `stages` outlives what is returned.
[[nodiscard]] absl::StatusOr<std::unique_ptr<pool::Quiet>> QuiesceVolume(
    const state::StageStore& stages, const VolumeId& id, const os::BlockDevice& device,
    const CutOptions& options);

}  // namespace holdfast::node
