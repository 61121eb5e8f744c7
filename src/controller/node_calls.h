// SPDX-License-Identifier: Apache-2.0
// CSI requests to nodes over the link, with CSI's errors.
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

  // Sends a request that the table of RPCs (rpc_table.h) has, without its secrets: nodes need none.
  // The bytes of the response, if the node's status is OK; ParseAnswer makes a message of them. Of
  // its errors only codes that such a call has are passed on, INTERNAL for others; the message says
  // which node speaks.
  [[nodiscard]] absl::StatusOr<std::string> Ask(const std::string& node,
                                                const google::protobuf::Message& request,
                                                link::Deadline deadline);

  // The same, to the node that owns the volume. NOT_FOUND if no such id was ever made.
  [[nodiscard]] absl::StatusOr<std::string> CallOwner(const std::string& volume_id,
                                                      const google::protobuf::Message& request,
                                                      link::Deadline deadline);

 private:
  link::Hub& hub_;
};

}  // namespace holdfast::controller
