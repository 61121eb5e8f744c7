// SPDX-License-Identifier: Apache-2.0
// The verbs `holdfast volumes` and `holdfast pools`: what a running instance has.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/serve_command.h"

namespace holdfast::cli {

void AddVolumesCommand(CLI::App& app, Action& run);
void AddPoolsCommand(CLI::App& app, Action& run);

}  // namespace holdfast::cli
