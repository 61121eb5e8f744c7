// SPDX-License-Identifier: Apache-2.0
#include "core/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "core/settings.h"
#include "core/text_file.h"
#include "core/unknown_name.h"

namespace holdfast {
namespace {

std::string Line(const YAML::Mark& mark) { return fmt::format("line {}", mark.line + 1); }

absl::StatusOr<std::string> TextOf(const YAML::Node& node) {
  if (!node.IsScalar()) return InvalidArgument("must be a single value");
  return node.Scalar();
}

absl::StatusOr<std::vector<std::string>> ListOf(const YAML::Node& node) {
  if (!node.IsSequence()) return InvalidArgument("must be a list of texts");
  std::vector<std::string> texts;
  for (const auto& item : node) {
    if (!item.IsScalar()) return InvalidArgument("must be a list of texts");
    texts.push_back(item.Scalar());
  }
  return texts;
}

absl::StatusOr<std::string> SwitchOf(const YAML::Node& node) {
  bool value = false;
  if (node.IsScalar() && YAML::convert<bool>::decode(node, value)) return value ? "true" : "false";
  return InvalidArgument("must be true or false");
}

// A word that stands for no key keeps `name` or the storage from being given.
absl::Status CheckPoolNames(const std::string& name, const std::string& storage,
                            const PoolKeys& keys, PoolSyntaxes kinds) {
  std::vector<std::string_view> names = {"name"};
  std::ranges::transform(kinds, std::back_inserter(names), &PoolSyntax::kind);
  if (!name.empty() && !storage.empty()) return absl::OkStatus();
  for (const auto& [key, value] : keys) {
    if (ClosestName(key, names)) return UnknownName("key", key, names);
  }
  return absl::OkStatus();
}

std::string KindNames(PoolSyntaxes kinds) {
  std::vector<std::string_view> names;
  std::ranges::transform(kinds, std::back_inserter(names), &PoolSyntax::kind);
  return fmt::format("{}", fmt::join(names, " or "));
}

absl::StatusOr<PoolConfig> PoolOf(const YAML::Node& node, PoolSyntaxes kinds) {
  if (!node.IsMap()) {
    return InvalidArgument("a pool must be a map with name, and {}", KindNames(kinds));
  }
  std::string name;
  std::string storage;
  PoolKeys keys;
  std::set<std::string> seen;
  for (const auto& entry : node) {
    ASSIGN_OR_RETURN(const std::string key, TextOf(entry.first));
    if (!seen.insert(key).second) return InvalidArgument("key '{}' is given twice", key);
    const absl::StatusOr<std::string> value = TextOf(entry.second);
    RETURN_IF_ERROR(Annotate(value.status(), key));
    if (key == "name") {
      name = *value;
    } else if (std::ranges::count(kinds, key, &PoolSyntax::kind) > 0) {
      if (!storage.empty()) {
        return InvalidArgument("pool '{}' is of one kind: {}", name, KindNames(kinds));
      }
      storage = key + ":" + *value;
    } else {
      keys[key] = *value;
    }
  }
  RETURN_IF_ERROR(CheckPoolNames(name, storage, keys, kinds));
  if (storage.empty()) {
    std::vector<std::string_view> given = {"name"};
    for (const auto& [key, value] : keys) given.push_back(key);
    return InvalidArgument("pool '{}' has no storage: its keys are {}, and {} is missing", name,
                           fmt::join(given, ", "), KindNames(kinds));
  }
  return MakePoolConfig(name, storage, keys, kinds);
}

absl::Status SetPools(Config& config, const YAML::Node& node, PoolSyntaxes kinds) {
  if (!node.IsSequence()) return InvalidArgument("must be a list of pools");
  for (const auto& item : node) {
    absl::StatusOr<PoolConfig> pool = PoolOf(item, kinds);
    RETURN_IF_ERROR(Annotate(pool.status(), Line(item.Mark())));
    config.pools.push_back(*std::move(pool));
  }
  return absl::OkStatus();
}

absl::Status SetSetting(Config& config, const Setting& setting, const YAML::Node& node,
                        PoolSyntaxes kinds) {
  std::vector<std::string> texts(1);
  switch (setting.type) {
    case SettingType::kPools:
      return SetPools(config, node, kinds);
    case SettingType::kList: {
      ASSIGN_OR_RETURN(texts, ListOf(node));
      break;
    }
    case SettingType::kSwitch: {
      ASSIGN_OR_RETURN(texts.front(), SwitchOf(node));
      break;
    }
    case SettingType::kText:
    case SettingType::kNumber: {
      ASSIGN_OR_RETURN(texts.front(), TextOf(node));
      break;
    }
  }
  return setting.set(config, texts, kinds);
}

absl::Status SetEntry(Config& config, const YAML::Node& key, const YAML::Node& value,
                      PoolSyntaxes kinds) {
  if (!key.IsScalar()) return InvalidArgument("the name of a setting must be a single word");
  const Setting* const setting = FindSetting(key.Scalar());
  if (setting == nullptr) return UnknownSetting(key.Scalar());
  return Annotate(SetSetting(config, *setting, value, kinds), setting->key);
}

absl::StatusOr<Config> ConfigOf(const YAML::Node& root, PoolSyntaxes kinds) {
  if (!root.IsMap()) return InvalidArgument("the configuration must be a map of settings");
  Config config;
  std::set<std::string> seen;
  for (const auto& entry : root) {
    if (entry.first.IsScalar() && !seen.insert(entry.first.Scalar()).second) {
      return InvalidArgument("{}: setting '{}' is given twice", Line(entry.first.Mark()),
                             entry.first.Scalar());
    }
    RETURN_IF_ERROR(
        Annotate(SetEntry(config, entry.first, entry.second, kinds), Line(entry.first.Mark())));
  }
  return config;
}

}  // namespace

absl::StatusOr<Config> ParseConfig(const std::string& yaml, PoolSyntaxes kinds) {
  try {
    return ConfigOf(YAML::Load(yaml), kinds);
  } catch (const YAML::Exception& error) {
    return InvalidArgument(
        "{}: this is not valid YAML ({}); check quotes, brackets, colons and indentation",
        Line(error.mark), error.msg);
  }
}

absl::StatusOr<Config> LoadConfig(const std::string& path, PoolSyntaxes kinds) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  absl::StatusOr<Config> config = ParseConfig(text, kinds);
  if (!config.ok()) return Annotate(config.status(), path);
  return config;
}

}  // namespace holdfast
