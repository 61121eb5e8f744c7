// SPDX-License-Identifier: Apache-2.0
#include "server/admin_service.h"

#include "controller/node_calls.h"
#include "core/volume_id.h"

namespace holdfast::server {
namespace {

absl::Status EndedByCaller() {
  return MakeStatus(absl::StatusCode::kCancelled, "the caller takes no more");
}

// The pool of the entry is the one that the call waits for.
rpc::CallRunner::Call CallAbout(std::string_view method, const admin::v1::TrashRequest& request) {
  const auto id = TrashId::Parse(request.id());
  return {method, request.id(), LogLevel::kInfo, id ? rpc::PoolKey(id->pool, id->node) : ""};
}

absl::Status Check(const admin::v1::ListRequest& request) {
  if (!request.after().empty()) {
    return InvalidArgument("after: '{}' continues a list over the link; leave it empty",
                           request.after());
  }
  return request.node().empty() ? absl::OkStatus() : ValidateNodeId(request.node());
}

}  // namespace

template <typename Response>
absl::Status AdminService::ListOwn(const admin::v1::ListRequest& request,
                                   const std::function<bool(const Response&)>& send) const {
  if (!request.node().empty() && request.node() != own_.node()) return absl::OkStatus();
  Part part;
  do {
    Response response;
    RETURN_IF_ERROR(own_.Fill(part, response));
    part.after = std::exchange(*response.mutable_next(), "");
    if (!send(response)) return EndedByCaller();
  } while (!part.after.empty());
  return absl::OkStatus();
}

template <typename Response>
grpc::Status AdminService::List(grpc::ServerContext* context, const char* method,
                                const admin::v1::ListRequest& request,
                                grpc::ServerWriter<Response>* writer) {
  return calls_.Run(context, {method, "", LogLevel::kDebug}, [&]() -> absl::Status {
    RETURN_IF_ERROR(Check(request));
    const rpc::RunningStreams::Entry running(streams_, context);
    const std::function<bool(const Response&)> send = [&](const Response& part) {
      return writer->Write(part);
    };
    RETURN_IF_ERROR(ListOwn(request, send));
    if (cluster_ == nullptr || request.own()) return absl::OkStatus();
    return cluster_->List(request.node(), controller::DeadlineOf(context), send);
  });
}

grpc::Status AdminService::ListPools(grpc::ServerContext* context,
                                     const admin::v1::ListRequest* request,
                                     grpc::ServerWriter<admin::v1::ListPoolsResponse>* writer) {
  return List(context, "ListPools", *request, writer);
}

grpc::Status AdminService::ListVolumes(grpc::ServerContext* context,
                                       const admin::v1::ListRequest* request,
                                       grpc::ServerWriter<admin::v1::ListVolumesResponse>* writer) {
  return List(context, "ListVolumes (admin)", *request, writer);
}

grpc::Status AdminService::ListSnapshots(
    grpc::ServerContext* context, const admin::v1::ListRequest* request,
    grpc::ServerWriter<admin::v1::ListSnapshotsResponse>* writer) {
  return List(context, "ListSnapshots (admin)", *request, writer);
}

grpc::Status AdminService::ListLeftovers(
    grpc::ServerContext* context, const admin::v1::ListRequest* request,
    grpc::ServerWriter<admin::v1::ListLeftoversResponse>* writer) {
  return List(context, "ListLeftovers", *request, writer);
}

grpc::Status AdminService::ListTrash(grpc::ServerContext* context,
                                     const admin::v1::ListRequest* request,
                                     grpc::ServerWriter<admin::v1::ListTrashResponse>* writer) {
  return List(context, "ListTrash", *request, writer);
}

bool AdminService::IsOfNodes(const TrashId& id) const {
  return cluster_trash_ != nullptr && !id.node.empty();
}

grpc::Status AdminService::RestoreTrash(grpc::ServerContext* context,
                                        const admin::v1::TrashRequest* request,
                                        admin::v1::RestoreTrashResponse* response) {
  return calls_.Run(context, CallAbout("RestoreTrash", *request), [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const TrashId id, EntryIn(*request));
    if (!IsOfNodes(id)) return trash_.Restore(id, *response);
    return cluster_trash_->Restore(id, controller::DeadlineOf(context), *response);
  });
}

grpc::Status AdminService::PurgeTrash(grpc::ServerContext* context,
                                      const admin::v1::TrashRequest* request,
                                      admin::v1::PurgeTrashResponse*) {
  return calls_.Run(context, CallAbout("PurgeTrash", *request), [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const TrashId id, EntryIn(*request));
    if (!IsOfNodes(id)) return trash_.Purge(id);
    return cluster_trash_->Purge(id, controller::DeadlineOf(context));
  });
}

grpc::Status AdminService::ListNodes(grpc::ServerContext* context,
                                     const admin::v1::ListRequest* request,
                                     grpc::ServerWriter<admin::v1::ListNodesResponse>* writer) {
  return calls_.Run(context, {"ListNodes", "", LogLevel::kDebug}, [&]() -> absl::Status {
    RETURN_IF_ERROR(Check(*request));
    const rpc::RunningStreams::Entry running(streams_, context);
    admin::v1::ListNodesResponse response;
    if (cluster_ != nullptr) {
      response = cluster_->Nodes(request->node());
    } else if (request->node().empty() || request->node() == own_.node()) {
      RETURN_IF_ERROR(own_.Fill(Part{}, response));
    }
    return writer->Write(response) ? absl::OkStatus() : EndedByCaller();
  });
}

}  // namespace holdfast::server
