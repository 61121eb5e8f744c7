// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_command.h"

#include <chrono>
#include <exception>
#include <memory>

#include "cli/exit_code.h"
#include "cli/serve_flags.h"
#include "server/server.h"

namespace holdfast::cli {
namespace {

constexpr char kFooter[] =
    R"(Example: volumes in image files below /srv/volumes, everything in one process

  holdfast serve --node-id=$(hostname) --pool=default=file:/srv/volumes

Pool keys: fs=ext4|ext3|xfs|btrfs (filesystem when a request names none; ext4),
reserve=10Gi or 5% (room kept for the host; 5%), overcommit=1.5 (thin bytes promised
per byte of room; 1), watermark=90% (no thin promises above this use; 90%).
A Ceph pool: --pool=NAME=rbd:CEPHPOOL[/NAMESPACE],monitors=HOST:PORT;HOST:PORT,user=USER,
keyring=FILE; or conf=FILE instead of monitors=, dataPool= for erasure-coded data, fs= as above.
A YAML file given by --config has the same settings; flags win over it.)";

constexpr std::chrono::seconds kLastWords{1};

absl::Status Serve(const Config& config) {
  server::Server server(config);
  RETURN_IF_ERROR(server.Start());
  RETURN_IF_ERROR(server.Recover());
  RETURN_IF_ERROR(server.Run());
  server.Stop();
  return absl::OkStatus();
}

// No thread or no memory at the start is an error like others.
absl::Status ServeOrSay(const Config& config) {
  try {
    return Serve(config);
  } catch (const std::exception& error) {
    return Unavailable("cannot serve: {}", error.what());
  }
}

int Run(const ServeFlags& flags) {
  const auto config = BuildConfig(flags);
  absl::Status status = config.status();
  if (config.ok()) {
    StartLog(config->log_level);
    status = ServeOrSay(*config);
    FlushLog(kLastWords);
  }
  return ExitCode(status);
}

}  // namespace

void AddServeCommand(CLI::App& app, Action& run) {
  const auto flags = std::make_shared<ServeFlags>();
  CLI::App& serve = *app.add_subcommand("serve", "Serve the CSI services on a Unix socket");
  serve.footer(kFooter);
  AddServeFlags(serve, *flags);
  serve.callback([flags, &run] { run = [flags] { return Run(*flags); }; });
}

}  // namespace holdfast::cli
