// SPDX-License-Identifier: Apache-2.0
// The kinds of pools that this program has.
#pragma once

#include "os/device_owner.h"

namespace holdfast::server {

// How each kind proves that a device is one of its volumes'. Kinds of which no pool is configured
// are included: a volume of such a pool may still be mounted.
[[nodiscard]] os::DeviceOwners DeviceOwnersOfAllKinds();

}  // namespace holdfast::server
