// SPDX-License-Identifier: Apache-2.0
// A result of `holdfast doctor`: the state of one thing on this host, and the remedy.
#pragma once

#include <string>

namespace holdfast {

enum class FindingLevel {
  kOk,
  kWarning,  // Holdfast serves, but something will not work or not as well
  kMissing,  // Holdfast cannot do its work without it
};

struct Finding {
  FindingLevel level = FindingLevel::kOk;
  std::string what{};    // the thing: "CAP_SYS_ADMIN"
  std::string found{};   // "held"
  std::string why{};     // why it matters
  std::string remedy{};  // what to do; empty when kOk
};

}  // namespace holdfast
