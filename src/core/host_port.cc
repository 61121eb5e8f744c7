// SPDX-License-Identifier: Apache-2.0
#include "core/host_port.h"

#include <charconv>

namespace holdfast {

std::vector<std::string> HostPort::ListenHosts() const {
  if (host.empty()) return {"::", "0.0.0.0"};
  return {host};
}

absl::StatusOr<HostPort> ParseHostPort(std::string_view text) {
  const absl::Status wrong = InvalidArgument(
      "'{}' must be HOST:PORT, such as 127.0.0.1:9808, [::1]:9808 or :9808 for every address",
      text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  HostPort parsed;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), parsed.port);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong;
  if (parsed.port < 1 || parsed.port > 65535) return wrong;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong;
  }
  parsed.host = host;
  return parsed;
}

}  // namespace holdfast
