// SPDX-License-Identifier: Apache-2.0
// The command line of `holdfast serve`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config.h"

namespace holdfast::cli {

// Flags as written; empty means "not given".
struct ServeFlags {
  std::string config_path;
  std::string role;
  std::string endpoint;
  std::string node_id;
  std::string state_dir;
  std::string driver_name;
  std::string log_level;
  bool attach = false;
  std::optional<std::int64_t> max_volumes;
  std::vector<std::string> pools;
  std::vector<std::string> moved_pools;
  std::vector<std::string> topology;
  std::string kubelet_registration_dir;
  std::string link_listen;
  std::string link_controller;
  std::string link_tls;
  std::string link_token;
  std::string link_token_keys;
  std::string link_token_audience;
  std::string link_token_subject;
  std::string health_address;
  std::string metrics_address;
};

// Adds the options to the verb; parsing fills `flags`, which must live as long.
void AddServeFlags(CLI::App& serve, ServeFlags& flags);

// The configuration: the file that the flags name, if any, and the flags over it. The node is named
// after the host when neither names it. INVALID_ARGUMENT as ParseConfig, ParsePool and
// ParseNodeTopology say, and for a moved pool that is not configured; NOT_FOUND if the file is not
// there.
[[nodiscard]] absl::StatusOr<Config> BuildConfig(const ServeFlags& flags);

}  // namespace holdfast::cli
