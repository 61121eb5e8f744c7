// SPDX-License-Identifier: Apache-2.0
// What `holdfast doctor` found out about one thing.
#pragma once

#include <string>

namespace holdfast::cli {

enum class Level {
  kOk,
  kWarning,  // Holdfast serves, but something will not work or not as well
  kMissing,  // Holdfast cannot do its work without it
};

struct Finding {
  Level level = Level::kOk;
  std::string what{};    // "CAP_SYS_ADMIN"
  std::string found{};   // "held"
  std::string why{};     // why it matters
  std::string remedy{};  // what to do; empty when kOk
};

}  // namespace holdfast::cli
