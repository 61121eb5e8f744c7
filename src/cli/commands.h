// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace holdfast::cli {

// A verb sets `run` when it was chosen; main runs it and exits with what it returns.
using Action = std::function<int()>;

// `holdfast serve`
void AddServeCommand(CLI::App& app, Action& run);

// `holdfast demo`: a volume's whole life, visible, on real loop devices and mounts.
void AddDemoCommand(CLI::App& app, Action& run);

// `holdfast doctor`: what this host lacks, why it matters, and the remedy.
void AddDoctorCommand(CLI::App& app, Action& run);

// `holdfast volumes`, `holdfast snapshots` and `holdfast pools`: what a running instance has.
void AddVolumesCommand(CLI::App& app, Action& run);
void AddSnapshotsCommand(CLI::App& app, Action& run);
void AddPoolsCommand(CLI::App& app, Action& run);

}  // namespace holdfast::cli
