// SPDX-License-Identifier: Apache-2.0
// The kind of pools whose volumes are image files, written file:DIRECTORY.
#pragma once

#include "core/pool_config.h"
#include "pool/pool_kind.h"

namespace holdfast::file {

// How such pools are written; a part of FileKind.
[[nodiscard]] const PoolSyntax& FileSyntax();

[[nodiscard]] pool::PoolKind FileKind();

}  // namespace holdfast::file
