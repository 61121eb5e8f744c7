// SPDX-License-Identifier: Apache-2.0
// What an audit has found, for people and for scripts.
#pragma once

#include <absl/time/time.h>

#include <string>

#include "cli/audit_findings.h"

namespace holdfast::cli {

// Exit codes of `holdfast audit`, beside 0 for a whole audit without findings.
inline constexpr int kExitFindings = 1;
inline constexpr int kExitIncomplete = 2;  // or it could not be made at all

// kExitIncomplete if anything is unknown, whatever else was found.
[[nodiscard]] int ExitCodeOf(const Audit& audit);

// A table of the entries, if there are some, and a sentence.
[[nodiscard]] std::string AuditText(const Audit& audit, absl::Time now, bool colours);

// How much was compared and found, in one sentence.
[[nodiscard]] std::string AuditSummary(const Audit& audit);

// Sizes in bytes; -1 where one is not known.
[[nodiscard]] std::string AuditJson(const Audit& audit);

}  // namespace holdfast::cli
