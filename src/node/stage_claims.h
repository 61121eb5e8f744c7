// SPDX-License-Identifier: Apache-2.0
// Finds the volumes that the stage records place at a path.
#pragma once

#include <string>

#include "node/mount_teardown.h"
#include "pool/pools.h"
#include "state/stage_store.h"

namespace holdfast::node {

// What is needed to take away this volume's mounts at `path`. The records are read when they are
// asked; one that cannot be read claims nothing. `pools` and `stages` must outlive it.
[[nodiscard]] Teardown TeardownOf(const pool::Pools& pools, const state::StageStore& stages,
                                  const std::string& volume_id, const std::string& path);

}  // namespace holdfast::node
