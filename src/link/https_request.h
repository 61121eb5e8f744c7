// SPDX-License-Identifier: Apache-2.0
// One HTTPS request over a connection of its own.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast::link {

struct HttpsRequest {
  std::string server = {};   // https://HOST[:PORT], an IPv6 address in brackets
  std::string ca_file = {};  // PEM: the authorities that may have signed the server's certificate
  std::string token = {};    // sent as a bearer token unless empty
  std::string path = {};     // begins with a slash
  std::string json = {};     // POSTed unless empty; otherwise the request is a GET
};

struct HttpsAnswer {
  unsigned status = 0;
  std::string body;  // at most 1 MiB
};

// Thread-safe. Resolves the name, which takes as long as the host's resolver does, and then takes
// at most five seconds. The certificate must name the host (RFC 6125), and TLS be 1.2 or newer.
// Follows no redirection. UNAVAILABLE: there was no complete answer, or a larger one;
// INVALID_ARGUMENT: `server`.
[[nodiscard]] absl::StatusOr<HttpsAnswer> Send(const HttpsRequest& request);

}  // namespace holdfast::link
