// SPDX-License-Identifier: Apache-2.0
// The table of the settings of `holdfast serve`. The keys of the YAML file (core/config_file.h),
// the flags and their help (cli/setting_flags.h) come from it; docs/parameters.md is tested against
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"

namespace holdfast {

enum class SettingType {
  kText,    // one text, in the flag and in the file
  kNumber,  // one whole number
  kSwitch,  // true or false; the flag alone means true
  kList,    // texts: the flag is repeatable, the file has a list
  kPools,   // as kList, but in the file each is a map (core/pool_config.h)
};

struct Setting {
  std::string_view key;   // in the YAML file
  std::string_view flag;  // with its dashes
  SettingType type;
  std::string_view value;     // the name of the flag's value, for the help
  std::string_view fallback;  // the default, as docs/parameters.md states it
  std::string_view help;
  // Replaces the setting's value in `config` by `texts`: one text, except for lists; "true" or
  // "false" for a switch. INVALID_ARGUMENT saying what is wrong with the texts, without the
  // setting's name. `kinds`: those that pools can have.
  absl::Status (*set)(Config& config, const std::vector<std::string>& texts, PoolSyntaxes kinds);
  std::string_view environment = "";  // variable that replaces the flag; empty: none
};

[[nodiscard]] std::span<const Setting> Settings();

// Null if the YAML file has no such key.
[[nodiscard]] const Setting* FindSetting(std::string_view key);

// INVALID_ARGUMENT naming the closest key, or all of them.
[[nodiscard]] absl::Status UnknownSetting(std::string_view key);

}  // namespace holdfast
