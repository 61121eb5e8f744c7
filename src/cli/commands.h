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

// What a running instance has, or all nodes of a controller.
void AddVolumesCommand(CLI::App& app, Action& run);
void AddSnapshotsCommand(CLI::App& app, Action& run);
void AddPoolsCommand(CLI::App& app, Action& run);
void AddNodesCommand(CLI::App& app, Action& run);
void AddLeftoversCommand(CLI::App& app, Action& run);

// `holdfast trash`: what was deleted and is kept; restores and purges it.
void AddTrashCommand(CLI::App& app, Action& run);

// `holdfast audit`: what Kubernetes and Holdfast know differently; and the deletion of volumes that
// no PersistentVolume has.
void AddAuditCommand(CLI::App& app, Action& run);
void AddDeleteVolumesCommand(CLI::App& app, Action& run);

// `holdfast node lost`: what is lost with a node, and the commands that replace it.
void AddNodeCommand(CLI::App& app, Action& run);

// `holdfast top`: what volumes in use read and write, and copies under way.
void AddTopCommand(CLI::App& app, Action& run);

// `holdfast completion SHELL` and `holdfast man`: made of all verbs that `app` has when they run.
void AddCompletionCommand(CLI::App& app, Action& run);
void AddManualCommand(CLI::App& app, Action& run);

}  // namespace holdfast::cli
