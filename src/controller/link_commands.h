// SPDX-License-Identifier: Apache-2.0
// The node's side of the link: its own Controller service does what the controller forwards.
#pragma once

#include <functional>
#include <string>

#include "controller/service.h"
#include "pool/pools.h"
#include "proto/link.pb.h"

namespace holdfast::controller {

// Methods of the link that CSI does not have.
inline constexpr char kDescribeContent[] = "DescribeContent";
inline constexpr char kSendContent[] = "SendContent";
inline constexpr char kCopyContent[] = "CopyContent";
inline constexpr char kHoldContent[] = "HoldContent";
inline constexpr char kReleaseContent[] = "ReleaseContent";
inline constexpr char kFindRanges[] = "FindRanges";

// Carries out one command by the table of RPCs (rpc_table.h); its status is in the result:
// UNIMPLEMENTED for a method that no node carries out, INVALID_ARGUMENT for a request that cannot
// be parsed, else the service's own. Thread-safe.
[[nodiscard]] link::v1::Result Execute(Service& service, const link::v1::Command& command);

// Whether the room in the pools may be another after such a command.
[[nodiscard]] bool ChangesSpace(const std::string& method);

// What this node says of its pools.
[[nodiscard]] link::v1::Pools MeasurePools(const pool::Pools& pools);

// Hands over all volumes and snapshots of pools whose bytes are on this node, in parts as the link
// wants them; ends early when `send` is false.
void NameVolumes(const pool::Pools& pools,
                 const std::function<bool(const link::v1::Volumes&)>& send);

// How many of these pools are there to list their volumes.
[[nodiscard]] std::size_t CountListable(const pool::Pools& pools);

// How it describes itself when it connects.
[[nodiscard]] link::v1::Register DescribeNode(const std::string& driver_name,
                                              const std::string& node_id, const pool::Pools& pools);

}  // namespace holdfast::controller
