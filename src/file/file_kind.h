// SPDX-License-Identifier: Apache-2.0
// The kind of pools whose volumes are image files.
#pragma once

#include "pool/pool_kind.h"

namespace holdfast::file {

[[nodiscard]] pool::PoolKind FileKind();

}  // namespace holdfast::file
