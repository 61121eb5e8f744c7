// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_flags.h"

#include <unistd.h>

#include <algorithm>

#include "core/config_file.h"
#include "core/settings.h"

namespace holdfast::cli {
namespace {

using Texts = std::vector<std::string>;

std::string HelpOf(const Setting& setting, PoolSyntaxes kinds) {
  if (setting.type == SettingType::kPools) {
    return fmt::format("{}; KIND:LOCATION is {}", setting.help, PoolForms(kinds));
  }
  if (setting.fallback == "none") return std::string(setting.help);
  return fmt::format("{} (default: {})", setting.help, setting.fallback);
}

CLI::Option* AddOption(CLI::App& serve, const Setting& setting, ServeFlags& flags,
                       PoolSyntaxes kinds) {
  const std::string help = HelpOf(setting, kinds);
  const std::string flag(setting.flag);
  const auto give = [&flags, key = setting.key](Texts texts) {
    flags.settings[key] = std::move(texts);
  };
  switch (setting.type) {
    case SettingType::kSwitch:
      return serve.add_flag(flag, flags.switches[setting.key], help);
    case SettingType::kList:
    case SettingType::kPools:
      return serve.add_option_function<Texts>(flag, give, help)->take_all();
    case SettingType::kText:
    case SettingType::kNumber:
      break;
  }
  // An empty text means "not given".
  return serve.add_option_function<std::string>(
      flag,
      [give](const std::string& text) {
        if (!text.empty()) give({text});
      },
      help);
}

Texts Given(const ServeFlags& flags, const Setting& setting) {
  if (setting.type == SettingType::kSwitch) {
    const std::string& text = flags.switches.at(setting.key);
    return text.empty() ? Texts() : Texts{text};
  }
  const auto given = flags.settings.find(setting.key);
  return given == flags.settings.end() ? Texts() : given->second;
}

absl::Status AcceptMoves(Config& config, const Texts& names) {
  for (const std::string& name : names) {
    const auto moved = std::ranges::find(config.pools, name, &PoolConfig::name);
    if (moved == config.pools.end()) {
      return InvalidArgument("--accept-moved-pool: there is no pool '{}'", name);
    }
    moved->accept_move = true;
  }
  return absl::OkStatus();
}

void NameNode(Config& config) {
  if (!config.link_listen.empty()) {
    config.node_id.clear();  // it is on no node, and no Node's name may be its own
  } else if (config.node_id.empty()) {
    char name[256] = {};
    if (::gethostname(name, sizeof(name) - 1) == 0) config.node_id = name;
  }
}

}  // namespace

void AddServeFlags(CLI::App& serve, ServeFlags& flags, PoolSyntaxes kinds) {
  for (const Setting& setting : Settings()) {
    CLI::Option* const option = AddOption(serve, setting, flags, kinds);
    if (!setting.value.empty()) option->type_name(std::string(setting.value));
    if (!setting.environment.empty()) option->envname(std::string(setting.environment));
  }
  serve
      .add_option("--accept-moved-pool", flags.moved_pools,
                  "A pool that was copied to another filesystem on purpose; for one start")
      ->type_name("NAME");
  serve
      .add_option("--config", flags.config_path,
                  "YAML file with the same settings; flags override it")
      ->type_name("FILE");
}

absl::StatusOr<Config> BuildConfig(const ServeFlags& flags, PoolSyntaxes kinds) {
  Config config;
  if (!flags.config_path.empty()) {
    ASSIGN_OR_RETURN(config, LoadConfig(flags.config_path, kinds));
  }
  for (const Setting& setting : Settings()) {
    const Texts texts = Given(flags, setting);
    if (texts.empty()) continue;
    RETURN_IF_ERROR(Annotate(setting.set(config, texts, kinds), setting.flag));
  }
  RETURN_IF_ERROR(AcceptMoves(config, flags.moved_pools));
  NameNode(config);
  return config;
}

}  // namespace holdfast::cli
