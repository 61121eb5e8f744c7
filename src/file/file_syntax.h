// SPDX-License-Identifier: Apache-2.0
// How pools of image files are written: file:DIRECTORY.
#pragma once

#include "core/pool_config.h"

namespace holdfast::file {

[[nodiscard]] const PoolSyntax& FileSyntax();

}  // namespace holdfast::file
