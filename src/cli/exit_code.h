// SPDX-License-Identifier: Apache-2.0
// How a verb ends: the exit code, and the message on standard error.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/status.h"

namespace holdfast::cli {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;  // what was asked makes no sense: flags, configuration

// Prints the error, if it is one, on standard error and returns the exit code: 0 for OK, kExitUsage
// for INVALID_ARGUMENT, kExitFailure for the rest.
[[nodiscard]] int ExitCode(const absl::Status& status);

// Turns `help`, `help VERB` and `version` into the flags that mean the same.
void UnderstandHelp(std::vector<std::string>& words);

// For a command line that cannot be parsed. Prints the error on standard error, naming the verb or
// flag that is closest to an unknown one, and returns the exit code. --help and --version end here,
// too: they print on standard output, with exit code 0.
[[nodiscard]] int ExplainUsage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace holdfast::cli
