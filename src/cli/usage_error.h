// SPDX-License-Identifier: Apache-2.0
// What is said about a command line that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>

namespace holdfast::cli {

// Prints the error on standard error, naming the verb or flag that is closest to an unknown one,
// and returns the exit code. --help and --version end here, too: they print on standard output,
// with exit code 0.
[[nodiscard]] int ExplainUsage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace holdfast::cli
