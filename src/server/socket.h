// SPDX-License-Identifier: Apache-2.0
// The Unix socket before gRPC takes it: gRPC replaces whatever socket it finds, a served one too.
#pragma once

#include <string>

#include "core/status.h"

namespace holdfast::server {

// Makes the socket's directory if need be. FAILED_PRECONDITION when somebody answers on the socket,
// or something that is no socket has its name; a stale socket is no obstacle.
[[nodiscard]] absl::Status PrepareSocket(const std::string& path);

}  // namespace holdfast::server
