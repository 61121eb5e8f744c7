// SPDX-License-Identifier: Apache-2.0
// Sockets that listen for TCP connections.
#pragma once

#include <string>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::server {

// `address` is HOST:PORT, HOST empty for all addresses. FAILED_PRECONDITION when it cannot be had.
[[nodiscard]] absl::StatusOr<os::UniqueFd> ListenOnTcp(const std::string& address);

}  // namespace holdfast::server
