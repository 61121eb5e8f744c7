// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/exit_code.h"
#include "cli/host_checks.h"
#include "cli/instance_checks.h"
#include "cli/setting_flags.h"
#include "cli/terminal.h"
#include "core/finding.h"
#include "fs/filesystem.h"
#include "server/pool_kinds.h"

namespace holdfast::cli {
namespace {

constexpr char kDoctorFooter[] = R"(Examples:

  holdfast doctor
  holdfast doctor --config /etc/holdfast/config.yaml
  holdfast doctor --pool default=file:/srv/volumes,fs=xfs --output json

Checks the host, and what is configured if that is given; never changes anything. "missing": Holdfast
cannot do its work without it; "warning": something will not work, or not as well.
Exit code: 0 if nothing is missing, 1 if something is, 2 if the flags or the file are wrong.)";

struct DoctorFlags {
  SettingFlags settings;
  std::string output = "table";
};

constexpr std::string_view kSettings[] = {"pools", "endpoint", "stateDir"};

absl::StatusOr<Config> ConfigToCheck(const DoctorFlags& flags) {
  ASSIGN_OR_RETURN(Config config, BuildConfig(flags.settings, server::KnownPoolSyntaxes()));
  for (const PoolConfig& pool : config.pools) {
    RETURN_IF_ERROR(Annotate(fs::RequireSupported(pool.default_filesystem),
                             fmt::format("pool '{}'", pool.name)));
  }
  RETURN_IF_ERROR(SocketPath(config.endpoint).status());
  return config;
}

// The default filesystems of the pools.
std::set<std::string> DefaultFilesystems(const Config& config) {
  if (config.pools.empty()) return {PoolConfig().default_filesystem};
  std::set<std::string> names;
  for (const PoolConfig& pool : config.pools) names.insert(pool.default_filesystem);
  return names;
}

// Names and messages come from disks and other programs.
void MakePrintable(Finding& finding) {
  for (std::string* const text : {&finding.what, &finding.found, &finding.why, &finding.remedy}) {
    *text = Printable(*text);
  }
}

// The kinds that volumes will be of.
std::vector<const pool::PoolKind*> NeededKinds(const Config& config) {
  if (config.pools.empty()) return {&server::PoolKinds().front()};
  return server::KindsOf(config.pools);
}

std::vector<Finding> Examine(const Config& config) {
  const std::string release = KernelRelease();
  std::vector<Finding> findings = {CheckMountRights(), CheckGrowthRights(), CheckKernel(release)};
  const auto add = [&](std::vector<Finding> more) {
    std::ranges::move(more, std::back_inserter(findings));
  };
  for (const pool::PoolKind* const kind : NeededKinds(config)) {
    if (kind->examine_host != nullptr) add(kind->examine_host());
  }
  const std::set<std::string> needed = DefaultFilesystems(config);
  for (const std::string& filesystem : fs::SupportedFilesystems()) {
    add(CheckFilesystem(filesystem, needed.contains(filesystem), release));
  }
  for (const PoolConfig& pool : config.pools) {
    add(server::KindOf(pool).examine_pool(pool, config.state_dir));
  }
  add({CheckKubeletPropagation(), CheckEndpoint(config.endpoint)});
  add(CheckLeftovers(config.endpoint));
  for (Finding& finding : findings) MakePrintable(finding);
  return findings;
}

std::string_view NameOf(FindingLevel level) {
  switch (level) {
    case FindingLevel::kOk:
      return "ok";
    case FindingLevel::kWarning:
      return "warning";
    case FindingLevel::kMissing:
      return "missing";
  }
  return "";
}

Colour ColourOf(FindingLevel level) {
  switch (level) {
    case FindingLevel::kOk:
      return Colour::kGreen;
    case FindingLevel::kWarning:
      return Colour::kYellow;
    case FindingLevel::kMissing:
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
    if (finding.level == FindingLevel::kOk) continue;
    text += fmt::format("{:9}why:    {}\n{:9}remedy: {}\n", "", finding.why, "", finding.remedy);
  }
  const auto count = [&](FindingLevel level) {
    return std::ranges::count(findings, level, &Finding::level);
  };
  return text + fmt::format("\n{} ok, {} warning, {} missing\n", count(FindingLevel::kOk),
                            count(FindingLevel::kWarning), count(FindingLevel::kMissing));
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

int Run(const DoctorFlags& flags) {
  const auto config = ConfigToCheck(flags);
  if (!config.ok()) return ExitCode(config.status());
  const std::vector<Finding> findings = Examine(*config);
  std::cout << (flags.output == "json" ? Json(findings) : Text(findings, WantsColours()));
  const bool missing = std::ranges::count(findings, FindingLevel::kMissing, &Finding::level) > 0;
  return missing ? kExitFailure : 0;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, Action& run) {
  const auto flags = std::make_shared<DoctorFlags>();
  CLI::App& doctor =
      *app.add_subcommand("doctor", "Check this host: what is missing, why it matters, the remedy");
  doctor.footer(kDoctorFooter);
  AddSettingFlags(doctor, flags->settings, server::KnownPoolSyntaxes(), kSettings);
  doctor.add_option("-o,--output", flags->output, "Output format")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  doctor.callback([flags, &run] { run = [flags] { return Run(*flags); }; });
}

}  // namespace holdfast::cli
