// SPDX-License-Identifier: Apache-2.0
#include "controller/router.h"

#include <algorithm>

#include "controller/capabilities.h"
#include "controller/capacity.h"
#include "controller/placement.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

constexpr std::chrono::seconds kPatience{60};  // for callers that set no deadline

}  // namespace

link::Deadline Router::DeadlineOf(const grpc::ServerContext& context) {
  return std::min(context.deadline(), std::chrono::system_clock::now() + kPatience);
}

bool Router::IsOwn(const std::string& volume_id) const {
  const auto located = env_.own_pools.Locate(volume_id);
  return located.ok();
}

bool Router::NamesOwnPool(const google::protobuf::Map<std::string, std::string>& parameters) const {
  const auto name = parameters.find("pool");
  return name != parameters.end() && !name->second.empty() &&
         env_.own_pools.Find(name->second).ok();
}

absl::Status Router::Delete(const csi::v1::DeleteVolumeRequest& request, link::Deadline deadline) {
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(request.volume_id(), "DeleteVolume"));
  link::v1::Command command;
  command.mutable_delete_volume()->set_volume_id(request.volume_id());
  const auto result = nodes_.AskOwner(request.volume_id(), std::move(command), deadline);
  if (absl::IsNotFound(result.status())) return absl::OkStatus();
  RETURN_IF_ERROR(result.status());
  env_.hub.names().Deleted(request.volume_id());
  return absl::OkStatus();
}

// A token is "<node>|<that node's token>": node after node, each by its own pages. The controller's
// own volumes come first, under the empty name.
absl::Status Router::List(const csi::v1::ListVolumesRequest& request, link::Deadline deadline,
                          csi::v1::ListVolumesResponse& response) {
  if (request.max_entries() < 0) return InvalidArgument("max_entries is negative");
  const std::string& token = request.starting_token();
  const std::size_t bar = token.find('|');
  if (!token.empty() && bar == std::string::npos) {
    return Aborted(
        "starting_token was not given by an earlier ListVolumes; start again without it");
  }
  if (!env_.hub.WaitUntilSettled(deadline)) {
    return Unavailable("the controller has just started and waits for its nodes; try again");
  }
  const std::vector<std::string> missing = env_.hub.Missing();
  if (!missing.empty()) {
    return Unavailable("node '{}' is not connected: its volumes are not known now",
                       missing.front());
  }
  const std::string first = token.substr(0, token.empty() ? 0 : bar);
  if (first.empty() && !env_.own_pools.all().empty()) {
    csi::v1::ListVolumesRequest own = request;
    own.set_starting_token(token.empty() ? "" : token.substr(bar + 1));
    RETURN_IF_ERROR(env_.own.List(own, response));
    if (!response.next_token().empty()) {
      response.set_next_token("|" + response.next_token());
      return absl::OkStatus();
    }
  }
  for (const link::NodeView& node : env_.hub.Nodes()) {
    if (node.name < first) continue;
    if (request.max_entries() != 0 && response.entries_size() == request.max_entries()) {
      response.set_next_token(node.name + "|");
      return absl::OkStatus();
    }
    link::v1::Command command;
    auto& list = *command.mutable_list_volumes();
    if (request.max_entries() != 0) {
      list.set_max_entries(request.max_entries() - response.entries_size());
    }
    if (!first.empty() && node.name == first) list.set_starting_token(token.substr(bar + 1));
    ASSIGN_OR_RETURN(link::v1::Result result, nodes_.Ask(node.name, std::move(command), deadline));
    for (auto& entry : *result.mutable_list_volumes()->mutable_entries()) {
      const auto id = VolumeId::Parse(entry.volume().volume_id());
      const bool shared = id && id->node.empty();  // the node knows them too
      if (!shared) *response.add_entries() = std::move(entry);
    }
    if (!result.list_volumes().next_token().empty()) {
      response.set_next_token(node.name + "|" + result.list_volumes().next_token());
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status Router::Measure(const csi::v1::GetCapacityRequest& request,
                             csi::v1::GetCapacityResponse& response) {
  ASSIGN_OR_RETURN(const CapacityQuestion question, ParseCapacityQuestion(request));
  const std::string only = NodeOf(request.accessible_topology(), env_.driver_name);
  if (request.has_accessible_topology() && only.empty()) return absl::OkStatus();
  if (!question.possible || question.needs_several_nodes) return absl::OkStatus();
  const std::vector<link::NodeView> nodes =
      only.empty() ? env_.hub.Nodes() : env_.hub.Nodes({only});
  for (const link::NodeView& node : nodes) AddCapacity(question, node, response);
  // Nothing false is said of a node that is on its way back.
  if (nodes.empty() && !only.empty()) return Unavailable("node '{}' is not connected", only);
  return absl::OkStatus();
}

grpc::Status Router::CreateVolume(grpc::ServerContext* context,
                                  const csi::v1::CreateVolumeRequest* request,
                                  csi::v1::CreateVolumeResponse* response) {
  if (NamesOwnPool(request->parameters())) return env_.own.CreateVolume(context, request, response);
  return env_.calls.Run(context, {"CreateVolume", request->name()}, [&] {
    return creation_.Create(*request, DeadlineOf(*context), *response);
  });
}

grpc::Status Router::DeleteVolume(grpc::ServerContext* context,
                                  const csi::v1::DeleteVolumeRequest* request,
                                  csi::v1::DeleteVolumeResponse* response) {
  if (IsOwn(request->volume_id())) return env_.own.DeleteVolume(context, request, response);
  return env_.calls.Run(context, {"DeleteVolume", request->volume_id()},
                        [&] { return Delete(*request, DeadlineOf(*context)); });
}

grpc::Status Router::ValidateVolumeCapabilities(
    grpc::ServerContext* context, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
    csi::v1::ValidateVolumeCapabilitiesResponse* response) {
  if (IsOwn(request->volume_id()))
    return env_.own.ValidateVolumeCapabilities(context, request, response);
  return env_.calls.Run(
      context, {"ValidateVolumeCapabilities", request->volume_id()}, [&]() -> absl::Status {
        RETURN_IF_ERROR(rpc::RequireId(request->volume_id(), "volume_id"));
        if (request->volume_capabilities().empty()) {
          return InvalidArgument("volume_capabilities is missing");
        }
        link::v1::Command command;
        *command.mutable_validate_volume_capabilities() = *request;
        command.mutable_validate_volume_capabilities()->clear_secrets();
        ASSIGN_OR_RETURN(
            link::v1::Result result,
            nodes_.AskOwner(request->volume_id(), std::move(command), DeadlineOf(*context)));
        *response = std::move(*result.mutable_validate_volume_capabilities());
        return absl::OkStatus();
      });
}

grpc::Status Router::ListVolumes(grpc::ServerContext* context,
                                 const csi::v1::ListVolumesRequest* request,
                                 csi::v1::ListVolumesResponse* response) {
  return env_.calls.Run(context, {"ListVolumes", "", LogLevel::kDebug},
                        [&] { return List(*request, DeadlineOf(*context), *response); });
}

grpc::Status Router::GetCapacity(grpc::ServerContext* context,
                                 const csi::v1::GetCapacityRequest* request,
                                 csi::v1::GetCapacityResponse* response) {
  if (NamesOwnPool(request->parameters())) return env_.own.GetCapacity(context, request, response);
  return env_.calls.Run(context, {"GetCapacity", "", LogLevel::kDebug},
                        [&] { return Measure(*request, *response); });
}

grpc::Status Router::ControllerGetCapabilities(
    grpc::ServerContext*, const csi::v1::ControllerGetCapabilitiesRequest*,
    csi::v1::ControllerGetCapabilitiesResponse* response) {
  return env_.calls.RunAlways({"ControllerGetCapabilities", "", LogLevel::kDebug}, [&] {
    AddCapabilities(*response, env_.attach);
    return absl::OkStatus();
  });
}

grpc::Status Router::ControllerExpandVolume(grpc::ServerContext* context,
                                            const csi::v1::ControllerExpandVolumeRequest* request,
                                            csi::v1::ControllerExpandVolumeResponse* response) {
  if (IsOwn(request->volume_id()))
    return env_.own.ControllerExpandVolume(context, request, response);
  return env_.calls.Run(
      context, {"ControllerExpandVolume", request->volume_id()}, [&]() -> absl::Status {
        RETURN_IF_ERROR(rpc::RequireId(request->volume_id(), "volume_id"));
        if (!request->has_capacity_range()) return InvalidArgument("capacity_range is missing");
        link::v1::Command command;
        *command.mutable_expand_volume() = *request;
        command.mutable_expand_volume()->clear_secrets();
        ASSIGN_OR_RETURN(
            link::v1::Result result,
            nodes_.AskOwner(request->volume_id(), std::move(command), DeadlineOf(*context)));
        *response = std::move(*result.mutable_expand_volume());
        return absl::OkStatus();
      });
}

grpc::Status Router::ControllerGetVolume(grpc::ServerContext* context,
                                         const csi::v1::ControllerGetVolumeRequest* request,
                                         csi::v1::ControllerGetVolumeResponse* response) {
  if (IsOwn(request->volume_id())) return env_.own.ControllerGetVolume(context, request, response);
  return env_.calls.Run(context, {"ControllerGetVolume", request->volume_id(), LogLevel::kDebug},
                        [&]() -> absl::Status {
                          RETURN_IF_ERROR(rpc::RequireId(request->volume_id(), "volume_id"));
                          link::v1::Command command;
                          *command.mutable_get_volume() = *request;
                          ASSIGN_OR_RETURN(link::v1::Result result,
                                           nodes_.AskOwner(request->volume_id(), std::move(command),
                                                           DeadlineOf(*context)));
                          *response = std::move(*result.mutable_get_volume());
                          return absl::OkStatus();
                        });
}

}  // namespace holdfast::controller
