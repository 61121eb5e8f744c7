// SPDX-License-Identifier: Apache-2.0
// GetCapacity: the question, and the answer of this process (Service::AnswerCapacity) or of the
// nodes (Router::AnswerCapacity).
#pragma once

#include <string>

#include "controller/parameters.h"
#include "link/hub.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

struct CapacityQuestion {
  bool possible = true;              // false: no pool makes volumes of that kind
  bool needs_several_nodes = false;  // only pools whose volumes every node reaches make them
  ClassParameters parameters;
  bool block = false;
  std::string filesystem;  // empty: the pool's default
};

// INVALID_ARGUMENT naming the field.
[[nodiscard]] absl::StatusOr<CapacityQuestion> ParseCapacityQuestion(
    const csi::v1::GetCapacityRequest& request);

// The smallest volume of that kind on a pool with this default filesystem.
[[nodiscard]] Bytes MinimumSize(const CapacityQuestion& question,
                                const std::string& default_filesystem);

// Adds the node's room: available space is summed, sizes of one volume are the best of all nodes.
void AddCapacity(const CapacityQuestion& question, const link::NodeView& node,
                 csi::v1::GetCapacityResponse& response);

}  // namespace holdfast::controller
