// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_command.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/endpoint_check.h"
#include "cli/eviction_check.h"
#include "cli/exit_code.h"
#include "cli/filesystem_checks.h"
#include "cli/finding.h"
#include "cli/host_checks.h"
#include "cli/leftover_checks.h"
#include "cli/pool_checks.h"
#include "cli/rbd_checks.h"
#include "cli/terminal.h"
#include "core/config_file.h"
#include "fs/filesystem.h"

namespace holdfast::cli {
namespace {

constexpr char kFooter[] = R"(Examples:

  holdfast doctor
  holdfast doctor --config /etc/holdfast/config.yaml
  holdfast doctor --pool default=file:/srv/volumes,fs=xfs --output json

Checks the host, and what is configured if that is given; never changes anything. "missing": Holdfast
cannot do its work without it; "warning": something will not work, or not as well.
Exit code: 0 if nothing is missing, 1 if something is, 2 if the flags or the file are wrong.)";

struct Flags {
  std::string config_path;
  std::string endpoint;
  std::string state_dir;
  std::string output = "table";
  std::vector<std::string> pools;
};

absl::StatusOr<Config> BuildConfig(const Flags& flags) {
  Config config;
  if (!flags.config_path.empty()) {
    ASSIGN_OR_RETURN(config, LoadConfig(flags.config_path));
  }
  if (!flags.endpoint.empty()) config.endpoint = flags.endpoint;
  if (!flags.state_dir.empty()) config.state_dir = flags.state_dir;
  if (!flags.pools.empty()) config.pools.clear();
  for (const std::string& text : flags.pools) {
    ASSIGN_OR_RETURN(PoolConfig pool, ParsePool(text));
    config.pools.push_back(std::move(pool));
  }
  for (const PoolConfig& pool : config.pools) {
    if (fs::FindFilesystem(pool.default_filesystem) != nullptr) continue;
    return InvalidArgument("pool '{}': filesystem '{}' is not supported", pool.name,
                           pool.default_filesystem);
  }
  RETURN_IF_ERROR(SocketPath(config.endpoint).status());
  return config;
}

// What volumes get that name no filesystem.
std::set<std::string> DefaultFilesystems(const Config& config) {
  if (config.pools.empty()) return {PoolConfig().default_filesystem};
  std::set<std::string> names;
  for (const PoolConfig& pool : config.pools) names.insert(pool.default_filesystem);
  return names;
}

std::vector<Finding> Examine(const Config& config) {
  const std::string release = KernelRelease();
  std::vector<Finding> findings = {CheckMountRights(), CheckGrowthRights(), CheckKernel(release),
                                   CheckLoopDevices()};
  const auto add = [&](std::vector<Finding> more) {
    std::ranges::move(more, std::back_inserter(findings));
  };
  const std::set<std::string> needed = DefaultFilesystems(config);
  for (const std::string& filesystem : fs::SupportedFilesystems()) {
    add(CheckFilesystem(filesystem, needed.contains(filesystem), release));
  }
  for (const PoolConfig& pool : config.pools) {
    add(pool.kind == "rbd" ? CheckRbdPool(pool) : CheckPool(pool, config.state_dir));
    if (pool.kind == "file") add({CheckEviction(pool)});
  }
  add({CheckKubeletPropagation(), CheckEndpoint(config.endpoint)});
  add(CheckLeftovers(config.endpoint));
  return findings;
}

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarning:
      return "warning";
    case Level::kMissing:
      return "missing";
  }
  return "";
}

Colour ColourOf(Level level) {
  switch (level) {
    case Level::kOk:
      return Colour::kGreen;
    case Level::kWarning:
      return Colour::kYellow;
    case Level::kMissing:
      return Colour::kRed;
  }
  return Colour::kNone;
}

std::string Text(const std::vector<Finding>& findings, bool colours) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, Width(finding.what));
  std::string text;
  for (const Finding& finding : findings) {
    text += Paint(fmt::format("{:<9}", NameOf(finding.level)), ColourOf(finding.level), colours);
    text += fmt::format("{:<{}}  {}\n", finding.what, width, finding.found);
    if (finding.level == Level::kOk) continue;
    text += fmt::format("{:9}why:    {}\n{:9}remedy: {}\n", "", finding.why, "", finding.remedy);
  }
  const auto count = [&](Level level) {
    return std::ranges::count(findings, level, &Finding::level);
  };
  return text + fmt::format("\n{} ok, {} warning, {} missing\n", count(Level::kOk),
                            count(Level::kWarning), count(Level::kMissing));
}

std::string Json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    array.push_back({{"level", NameOf(finding.level)},
                     {"what", finding.what},
                     {"found", finding.found},
                     {"why", finding.why},
                     {"remedy", finding.remedy}});
  }
  return array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int Run(const Flags& flags) {
  const auto config = BuildConfig(flags);
  if (!config.ok()) return ExitCode(config.status());
  const std::vector<Finding> findings = Examine(*config);
  std::cout << (flags.output == "json" ? Json(findings) : Text(findings, WantsColours()));
  const bool missing = std::ranges::count(findings, Level::kMissing, &Finding::level) > 0;
  return missing ? kExitFailure : 0;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Action& run) {
  const auto flags = std::make_shared<Flags>();
  CLI::App& doctor =
      *app.add_subcommand("doctor", "Check this host: what is missing, why it matters, the remedy");
  doctor.footer(kFooter);
  doctor.add_option("--config", flags->config_path, "The YAML file that `holdfast serve` gets");
  doctor.add_option("--pool", flags->pools, "Check this pool, written as for serve")->take_all();
  doctor
      .add_option("--endpoint", flags->endpoint,
                  fmt::format("Unix socket to look at (default: {})", Config().endpoint))
      ->envname("CSI_ENDPOINT");
  doctor.add_option(
      "--state-dir", flags->state_dir,
      fmt::format("Directory for Holdfast's own state (default: {})", Config().state_dir));
  doctor.add_option("--output", flags->output, "How to show it")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  doctor.callback([flags, &run] { run = [flags] { return Run(*flags); }; });
}

}  // namespace holdfast::cli
