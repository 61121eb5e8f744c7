// SPDX-License-Identifier: Apache-2.0
#include "controller/node_calls.h"

#include "controller/node_answers.h"
#include "core/volume_id.h"

namespace holdfast::controller {

absl::StatusOr<link::v1::Result> NodeCalls::Ask(const std::string& node, link::v1::Command command,
                                                link::Deadline deadline) {
  const auto kind = command.request_case();
  ASSIGN_OR_RETURN(link::v1::Result result, hub_.Call(node, std::move(command), deadline));
  RETURN_IF_ERROR(StatusOf(node, kind, result));
  return result;
}

absl::StatusOr<link::v1::Result> NodeCalls::CallOwner(const std::string& volume_id,
                                                      link::v1::Command command,
                                                      link::Deadline deadline) {
  const std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  if (!id) return NotFound("there is no volume '{}'", volume_id);
  if (id->node.empty()) {
    return Unavailable("volume '{}' belongs to pool '{}', which is not configured here", volume_id,
                       id->pool);
  }
  return Ask(id->node, std::move(command), deadline);
}

}  // namespace holdfast::controller
