// SPDX-License-Identifier: Apache-2.0
// A node's end of the link to its controller.
#pragma once

#include <memory>

#include "core/config.h"
#include "link/node_link.h"
#include "server/server_state.h"
#include "server/services.h"

namespace holdfast::server {

// Dials until it is destroyed, and carries out the controller's commands. All three outlive it.
[[nodiscard]] std::unique_ptr<link::NodeLink> DialController(const Config& config,
                                                             ServerState& state,
                                                             Services& services);

}  // namespace holdfast::server
