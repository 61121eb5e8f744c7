// SPDX-License-Identifier: Apache-2.0
// The node's side of the link: its own Controller service does what the controller forwards.
#pragma once

#include <string>

#include "controller/service.h"
#include "pool/pools.h"
#include "proto/link.pb.h"

namespace holdfast::controller {

// Carries out one command; its status is in the result. Thread-safe.
[[nodiscard]] link::v1::Result CarryOut(Service& service, const link::v1::Command& command);

// What this node says of its pools.
[[nodiscard]] link::v1::Pools MeasurePools(const pool::Pools& pools);

// What it says of itself when it connects.
[[nodiscard]] link::v1::Register DescribeNode(const std::string& driver_name,
                                              const std::string& node_id, const pool::Pools& pools);

}  // namespace holdfast::controller
