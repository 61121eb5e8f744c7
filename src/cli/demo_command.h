// SPDX-License-Identifier: Apache-2.0
// The verb `holdfast demo`: a volume's whole life, visible, on real loop devices and mounts.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/serve_command.h"

namespace holdfast::cli {

void AddDemoCommand(CLI::App& app, Action& run);

}  // namespace holdfast::cli
