// SPDX-License-Identifier: Apache-2.0
// The holdfast command: one verb per thing it can do.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "core/version.h"

namespace {

constexpr char kFooter[] = R"(Start here:

  holdfast doctor                                       what this host lacks
  holdfast demo                                         a volume's whole life in two seconds
  holdfast serve --pool=default=file:/srv/volumes       the driver
  holdfast volumes                                      what it has

`holdfast VERB --help` says more about each.)";

}  // namespace

// An exception that comes this far ends the process and says what it is.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  CLI::App app{"Holdfast anchors Kubernetes volumes to the storage a cluster already has.",
               "holdfast"};
  app.set_version_flag("--version", std::string("holdfast ") + holdfast::kVersion);
  app.footer(kFooter);
  holdfast::cli::Action run;
  holdfast::cli::AddServeCommand(app, run);
  holdfast::cli::AddVolumesCommand(app, run);
  holdfast::cli::AddSnapshotsCommand(app, run);
  holdfast::cli::AddPoolsCommand(app, run);
  holdfast::cli::AddNodesCommand(app, run);
  holdfast::cli::AddLeftoversCommand(app, run);
  holdfast::cli::AddTrashCommand(app, run);
  holdfast::cli::AddTopCommand(app, run);
  holdfast::cli::AddAuditCommand(app, run);
  holdfast::cli::AddDeleteVolumesCommand(app, run);
  holdfast::cli::AddNodeCommand(app, run);
  holdfast::cli::AddDoctorCommand(app, run);
  holdfast::cli::AddDemoCommand(app, run);
  holdfast::cli::AddCompletionCommand(app, run);
  holdfast::cli::AddManualCommand(app, run);
  std::vector<std::string> words(argv + 1, argv + argc);
  holdfast::cli::UnderstandHelp(words);
  std::ranges::reverse(words);  // as CLI11 takes them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return holdfast::cli::ExplainUsage(app, error);
  }
  if (run) return run();
  std::cerr << app.help();
  return holdfast::cli::kExitUsage;
}
