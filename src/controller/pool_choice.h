// SPDX-License-Identifier: Apache-2.0
// Which of the pools that a class allows gets a new volume.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/parameters.h"
#include "core/volume.h"
#include "pool/pools.h"

namespace holdfast::controller {

// The pools that a class allows, of those that this process has: the named ones in the order of the
// class; without a name those whose bytes are on this node, the default pool first, or if there are
// none the default pool. INVALID_ARGUMENT if there is none of a name.
[[nodiscard]] absl::StatusOr<std::vector<pool::Pool*>> AllowedPools(
    const ClassParameters& parameters, const pool::Pools& pools);

struct WantedVolume {
  std::string name;  // as the CO gave it
  Provisioning provisioning = Provisioning::kThick;
  Bytes bytes = 0;  // at least
  std::optional<ContentSource> source = std::nullopt;
};

// One of the `allowed`, which are not empty: the one that has a volume of that name, or in which
// one is being made; else that of its source, if it fits there; else the one with the most room. A
// pool that does not answer is passed over while another one does. Changes nothing. The caller
// holds NameKey(name), so that a repeated call finds the same one.
[[nodiscard]] pool::Pool& ChoosePool(const std::vector<pool::Pool*>& allowed,
                                     const pool::Pools& pools, const WantedVolume& wanted);

}  // namespace holdfast::controller
