// SPDX-License-Identifier: Apache-2.0
// NodeExpandVolume without protobuf: device and filesystem reach the size that the volume has.
#pragma once

#include <string>

#include "pool/pools.h"
#include "state/stage_store.h"

namespace holdfast::node {

// Thread-safe; for one volume, the caller holds its lock.
class Expander final {
 public:
  Expander(const pool::Pools& pools, const state::StageStore& stages)
      : pools_(pools), stages_(stages) {}

  // The volume is found by its id, wherever it is mounted. Grows the volume itself too when it is
  // smaller than `required`, lets the device show its size, grows the filesystem and verifies it.
  // Returns the capacity that the volume has now. Idempotent; never shrinks.
  //   NOT_FOUND            no such volume
  //   OUT_OF_RANGE         no room in the pool, or limit below the present size
  //   FAILED_PRECONDITION  not staged here, mounted read-only, frozen by another program, or online
  //                        growth is not possible
  //   UNAVAILABLE          btrfs: the growth is still under way, perhaps until another program ends
  //                        its freeze
  [[nodiscard]] absl::StatusOr<Bytes> Expand(const std::string& volume_id, Bytes required,
                                             Bytes limit, const Secrets& secrets = {}) const;

 private:
  const pool::Pools& pools_;
  const state::StageStore& stages_;
};

}  // namespace holdfast::node
