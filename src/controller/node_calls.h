// SPDX-License-Identifier: Apache-2.0
// Commands to nodes over the link, as calls that fail as a CSI call does.
#pragma once

#include <string>

#include "link/hub.h"

namespace holdfast::controller {

// Thread-safe. Besides what the node itself answers: UNAVAILABLE when it is not connected, does not
// come back within the time that the hub waits, or its link breaks; DEADLINE_EXCEEDED.
class NodeCalls final {
 public:
  // `hub` outlives it.
  explicit NodeCalls(link::Hub& hub) : hub_(hub) {}

  // The result of a command to the node, if its status is OK. Of its errors only codes that such a
  // call has are passed on, INTERNAL for others; the message says which node speaks.
  [[nodiscard]] absl::StatusOr<link::v1::Result> Ask(const std::string& node,
                                                     link::v1::Command command,
                                                     link::Deadline deadline);

  // The same, to the node that owns the volume. NOT_FOUND if no such id was ever made.
  [[nodiscard]] absl::StatusOr<link::v1::Result> CallOwner(const std::string& volume_id,
                                                           link::v1::Command command,
                                                           link::Deadline deadline);

 private:
  link::Hub& hub_;
};

}  // namespace holdfast::controller
