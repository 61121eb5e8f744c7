// SPDX-License-Identifier: Apache-2.0
// The holdfast command: one verb per thing it can do.
#include <CLI/CLI.hpp>

#include "cli/serve_command.h"
#include "core/version.h"

int main(int argc, char** argv) {
  CLI::App app{"Holdfast anchors Kubernetes volumes to the storage a cluster already has.",
               "holdfast"};
  app.set_version_flag("--version", std::string("holdfast ") + holdfast::kVersion);
  app.require_subcommand(1);
  holdfast::cli::Action run;
  holdfast::cli::AddServeCommand(app, run);
  CLI11_PARSE(app, argc, argv);
  return run();
}
