// SPDX-License-Identifier: Apache-2.0
// The memory limit of this process.
#pragma once

#include <cstdint>

namespace holdfast::os {

// Bytes: the limit of its control group (version 1 or 2) or the host's memory, whichever is less. A
// limit that cannot be read counts as none.
[[nodiscard]] std::uint64_t MemoryLimit();

}  // namespace holdfast::os
