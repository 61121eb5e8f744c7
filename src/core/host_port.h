// SPDX-License-Identifier: Apache-2.0
// A TCP address as people write it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace holdfast {

struct HostPort {
  std::string host;  // without brackets; empty: every address
  int port = 0;      // 1 to 65535

  // The hosts to try to listen on, in this order: an empty host means every address of both
  // families, or only of IPv4 where the kernel has no IPv6.
  [[nodiscard]] std::vector<std::string> ListenHosts() const;
};

// "host:9808", "127.0.0.1:9808", "[::1]:9808" or ":9808". INVALID_ARGUMENT otherwise.
[[nodiscard]] absl::StatusOr<HostPort> ParseHostPort(std::string_view text);

}  // namespace holdfast
