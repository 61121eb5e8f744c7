// SPDX-License-Identifier: Apache-2.0
// The verb `holdfast serve`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace holdfast::cli {

// A verb sets `run` when it was chosen; main runs it and exits with what it returns.
using Action = std::function<int()>;

void AddServeCommand(CLI::App& app, Action& run);

}  // namespace holdfast::cli
