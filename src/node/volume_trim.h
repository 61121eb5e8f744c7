// SPDX-License-Identifier: Apache-2.0
// Trims the filesystem of a staged thin volume, in steps that are short enough for a call to wait
// for: what applications have deleted goes back to the pool.
#pragma once

#include <optional>
#include <string>

#include "fs/filesystem.h"
#include "pool/pools.h"
#include "state/stage_store.h"

namespace holdfast::node {

// A volume whose filesystem may have something to give back.
struct TrimCandidate {
  std::string volume_id;
  pool::Pool* pool = nullptr;
  VolumeId id;
  const fs::Filesystem* filesystem = nullptr;
};

// Asks the volume's pool, without its lock. Nothing for a raw block or thick volume; errors as of
// Pools::Locate and Pool::Get.
[[nodiscard]] absl::StatusOr<std::optional<TrimCandidate>> FindTrimCandidate(
    const pool::Pools& pools, const std::string& volume_id);

struct TrimStep {
  Bytes trimmed = 0;            // as os::TrimFreeSpace counts it
  std::optional<Bytes> next{};  // where the next step begins; nothing: this was the last one
};

// Trims at most `size` bytes, from the address `from`. The caller holds the volume's lock, which
// keeps it from being unmounted, and frozen for a snapshot, meanwhile. NOT_FOUND if the volume is
// not staged here (any more); UNIMPLEMENTED if it cannot be trimmed as it is mounted, or not at
// all; INTERNAL if what is mounted there is not the volume, or the trim fails.
[[nodiscard]] absl::StatusOr<TrimStep> TrimVolume(const TrimCandidate& volume,
                                                  const state::StageStore& stages, Bytes from,
                                                  Bytes size);

}  // namespace holdfast::node
