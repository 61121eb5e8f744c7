// SPDX-License-Identifier: Apache-2.0
// Growing the filesystem of a staged volume so that a kill in the middle can be made good.
#pragma once

#include <string>

#include "fs/filesystem.h"
#include "pool/stage_store.h"

namespace holdfast::node {

// Grows the filesystem mounted at `mount_path` to its device. The stage record is marked before and
// unmarked after, because growing xfs freezes it for a moment (Filesystem::Grow) and a kill in that
// moment leaves it frozen. What an interrupted growth left is ended first. Errors as
// Filesystem::Grow.
[[nodiscard]] absl::Status GrowStaged(const fs::Filesystem& filesystem,
                                      const os::BlockDevice& device, const std::string& mount_path,
                                      const pool::StageStore& stages, pool::StageRecord& record);

}  // namespace holdfast::node
