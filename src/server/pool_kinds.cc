// SPDX-License-Identifier: Apache-2.0
#include "server/pool_kinds.h"

#include "pool/loop_label.h"
#include "rbd/image_name.h"

namespace holdfast::server {

os::DeviceOwners DeviceOwnersOfAllKinds() {
  return os::DeviceOwners({pool::LoopProof(), rbd::RbdProof()});
}

}  // namespace holdfast::server
