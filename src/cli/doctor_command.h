// SPDX-License-Identifier: Apache-2.0
// The verb `holdfast doctor`: what this host lacks, why it matters, and the remedy.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/serve_command.h"

namespace holdfast::cli {

void AddDoctorCommand(CLI::App& app, Action& run);

}  // namespace holdfast::cli
