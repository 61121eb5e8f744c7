// SPDX-License-Identifier: Apache-2.0
#include "controller/node_calls.h"

#include <memory>

#include "controller/rpc_table.h"
#include "core/volume_id.h"
#include "rpc/fields.h"

namespace holdfast::controller {

absl::StatusOr<std::string> NodeCalls::Ask(const std::string& node,
                                           const google::protobuf::Message& request,
                                           link::Deadline deadline) {
  const Rpc& rpc = RpcOf(request);
  const std::unique_ptr<google::protobuf::Message> bare(request.New());
  bare->CopyFrom(request);
  rpc::ClearSecrets(*bare);
  link::v1::Command command;
  command.set_method(std::string(rpc.method));
  command.set_request(bare->SerializeAsString());
  ASSIGN_OR_RETURN(link::v1::Result result, hub_.Call(node, command, deadline));
  RETURN_IF_ERROR(StatusOf(node, rpc.codes, result));
  return std::move(*result.mutable_response());
}

absl::StatusOr<std::string> NodeCalls::CallOwner(const std::string& volume_id,
                                                 const google::protobuf::Message& request,
                                                 link::Deadline deadline) {
  const std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  if (!id) return NotFound("there is no volume '{}'", volume_id);
  if (id->node.empty()) {
    return Unavailable("volume '{}' belongs to pool '{}', which is not configured here", volume_id,
                       id->pool);
  }
  return Ask(id->node, request, deadline);
}

}  // namespace holdfast::controller
