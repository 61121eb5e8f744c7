// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <fmt/ranges.h>

#include <chrono>
#include <exception>
#include <memory>

#include "cli/exit_code.h"
#include "cli/setting_flags.h"
#include "fs/filesystem.h"
#include "server/pool_kinds.h"
#include "server/server.h"

namespace holdfast::cli {
namespace {

constexpr char kServeFooter[] =
    R"(Example: volumes in image files below /srv/volumes, everything in one process

  holdfast serve --node-id=$(hostname) --pool=default=file:/srv/volumes

)";
constexpr char kFooterEnd[] =
    "A YAML file given by --config has the same settings; flags win over it.";

std::string Footer() {
  std::string footer = kServeFooter;
  footer +=
      fmt::format("Every pool may have the key fs={} (filesystem when a request names none; {}).\n",
                  fmt::join(fs::SupportedFilesystems(), "|"), PoolConfig().default_filesystem);
  for (const PoolSyntax* const kind : server::KnownPoolSyntaxes()) {
    footer += fmt::format("{}\n", kind->help);
  }
  return footer + kFooterEnd;
}

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

int Run(const SettingFlags& flags) {
  const auto config = BuildConfig(flags, server::KnownPoolSyntaxes());
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
  const auto flags = std::make_shared<SettingFlags>();
  CLI::App& serve = *app.add_subcommand("serve", "Serve the CSI services on a Unix socket");
  serve.footer(Footer());
  AddServeFlags(serve, *flags, server::KnownPoolSyntaxes());
  serve.callback([flags, &run] { run = [flags] { return Run(*flags); }; });
}

}  // namespace holdfast::cli
