// SPDX-License-Identifier: Apache-2.0
#include "core/clock.h"

#include <fmt/chrono.h>

#include <chrono>

namespace holdfast {

std::string NowRfc3339() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace holdfast
