// SPDX-License-Identifier: Apache-2.0
// The end of a process whose stop takes too long.
#pragma once

#include <chrono>

#include "core/config.h"
#include "server/server_state.h"

namespace holdfast::server {

inline constexpr std::chrono::seconds kStopTime{25};  // kubelet's patience is 30 s

// What is done when stopping takes too long, right before the process ends. Children end with it.
// A thread that hangs in the kernel stays, and may yet complete one system call on its pool: a
// successor gets everything but the lock of that pool.
void GiveUp(const Config& config, const ServerState& state);

}  // namespace holdfast::server
