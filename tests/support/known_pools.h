// SPDX-License-Identifier: Apache-2.0
// Pools as an operator writes them, of the kinds that the program has.
#pragma once

#include <string_view>

#include "server/pool_kinds.h"
#include "support/outcome.h"

namespace holdfast::test {

inline absl::StatusOr<PoolConfig> ParseKnownPool(std::string_view text) {
  return ParsePool(text, server::KnownPoolSyntaxes());
}

}  // namespace holdfast::test
