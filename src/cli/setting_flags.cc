// SPDX-License-Identifier: Apache-2.0
#include "cli/setting_flags.h"

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

CLI::Option* AddOption(CLI::App& verb, const Setting& setting, SettingFlags& flags,
                       PoolSyntaxes kinds) {
  const std::string help = HelpOf(setting, kinds);
  const std::string flag(setting.flag);
  const auto give = [&flags, key = setting.key](Texts texts) {
    flags.settings[key] = std::move(texts);
  };
  switch (setting.type) {
    case SettingType::kSwitch:
      return verb.add_flag(flag, flags.switches[setting.key], help);
    case SettingType::kList:
    case SettingType::kPools:
      return verb.add_option_function<Texts>(flag, give, help)->take_all();
    case SettingType::kText:
    case SettingType::kNumber:
      break;
  }
  // An empty text means "not given".
  return verb.add_option_function<std::string>(
      flag,
      [give](const std::string& text) {
        if (!text.empty()) give({text});
      },
      help);
}

Texts Given(const SettingFlags& flags, const Setting& setting) {
  if (setting.type == SettingType::kSwitch) {
    const auto given = flags.switches.find(setting.key);
    return given == flags.switches.end() || given->second.empty() ? Texts() : Texts{given->second};
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
    config.node_id.clear();  // a controller has no node name, because any name could be a node's
  } else if (config.node_id.empty()) {
    char name[256] = {};
    if (::gethostname(name, sizeof(name) - 1) == 0) config.node_id = name;
  }
}

}  // namespace

void AddSettingFlags(CLI::App& verb, SettingFlags& flags, PoolSyntaxes kinds,
                     std::span<const std::string_view> keys) {
  for (const Setting& setting : Settings()) {
    if (std::ranges::find(keys, setting.key) == keys.end()) continue;
    CLI::Option* const option = AddOption(verb, setting, flags, kinds);
    if (!setting.value.empty()) option->type_name(std::string(setting.value));
    if (!setting.environment.empty()) option->envname(std::string(setting.environment));
  }
  verb.add_option("--config", flags.config_path,
                  "YAML file with the settings of serve; flags override it")
      ->type_name("FILE");
}

void AddServeFlags(CLI::App& serve, SettingFlags& flags, PoolSyntaxes kinds) {
  std::vector<std::string_view> keys;
  std::ranges::transform(Settings(), std::back_inserter(keys), &Setting::key);
  AddSettingFlags(serve, flags, kinds, keys);
  serve
      .add_option("--accept-moved-pool", flags.moved_pools,
                  "A pool that was copied to another filesystem on purpose; for one start")
      ->type_name("NAME");
}

absl::StatusOr<Config> BuildConfig(const SettingFlags& flags, PoolSyntaxes kinds) {
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
