// SPDX-License-Identifier: Apache-2.0
// The kind of pools whose volumes are RBD images in a Ceph cluster.
#pragma once

#include "pool/pool_kind.h"

namespace holdfast::rbd {

[[nodiscard]] pool::PoolKind RbdKind();

}  // namespace holdfast::rbd
