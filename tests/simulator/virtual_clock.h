// SPDX-License-Identifier: Apache-2.0
// The clock of a schedule, read through a plain function as the product reads the real one.
#pragma once

#include <absl/time/time.h>

namespace holdfast::simulator {

inline absl::Time virtual_now;
inline absl::Time VirtualNow() { return virtual_now; }

}  // namespace holdfast::simulator
