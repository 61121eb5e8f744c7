// SPDX-License-Identifier: Apache-2.0
// The flags of the settings, one for each row of core/settings.h: all of them for `holdfast serve`,
// with two that are not settings, and some for `doctor`.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"

namespace holdfast::cli {

// Flags as written.
struct SettingFlags {
  std::map<std::string_view, std::vector<std::string>> settings;  // by key; those that are given
  std::map<std::string_view, std::string> switches;               // by key; empty: not given
  std::string config_path;                                        // the same
  std::vector<std::string> moved_pools;
};

// Adds the flags of the settings with these keys, and --config. Parsing fills `flags`, which must
// live as long as the verb. The help names the `kinds` of pools.
void AddSettingFlags(CLI::App& verb, SettingFlags& flags, PoolSyntaxes kinds,
                     std::span<const std::string_view> keys);

// All flags of `serve`.
void AddServeFlags(CLI::App& serve, SettingFlags& flags, PoolSyntaxes kinds);

// The configuration: the file that the flags name, if any, and the flags over it. The node is named
// after the host when neither names it. INVALID_ARGUMENT naming the flag, or as ParseConfig says,
// and for a moved pool that is not configured; NOT_FOUND if the file is not there.
[[nodiscard]] absl::StatusOr<Config> BuildConfig(const SettingFlags& flags, PoolSyntaxes kinds);

}  // namespace holdfast::cli
