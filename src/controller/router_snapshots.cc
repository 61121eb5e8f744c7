// SPDX-License-Identifier: Apache-2.0
// The calls about snapshots of a controller with nodes. A snapshot is on the node of its volume,
// and that node describes it: where a node does not answer, a list that it belongs into fails.
#include "controller/node_calls.h"
#include "controller/router.h"
#include "controller/snapshot_place.h"
#include "controller/snapshot_request.h"

namespace holdfast::controller {
namespace {

// gRPC clients take messages of 4 MiB; of one node no more than half of that comes.
constexpr std::size_t kMostBytesOfSnapshots = std::size_t{2} << 20;

// "<node>|<id of the last snapshot>", the node empty for the controller's own pools.
struct SnapshotsToken {
  std::string node;
  std::string after;
};

absl::StatusOr<SnapshotsToken> ParseSnapshotsToken(const std::string& text) {
  if (text.empty()) return SnapshotsToken{};
  const std::size_t bar = text.find('|');
  const std::string after = bar == text.npos ? "" : text.substr(bar + 1);
  if (bar == text.npos || (!after.empty() && !ParseSnapshotId(after))) {
    return Aborted(
        "starting_token was not given by an earlier ListSnapshots; start again without it");
  }
  return SnapshotsToken{.node = text.substr(0, bar), .after = after};
}

// The place of what the request names, which has all snapshots that match: a snapshot is in the
// pool of its volume. Nothing if it names neither, or what cannot exist.
std::optional<VolumeId> PlaceOf(const csi::v1::ListSnapshotsRequest& request) {
  if (!request.snapshot_id().empty()) return ParseSnapshotId(request.snapshot_id());
  return VolumeId::Parse(request.source_volume_id());
}

bool IsFiltered(const csi::v1::ListSnapshotsRequest& request) {
  return !request.snapshot_id().empty() || !request.source_volume_id().empty();
}

}  // namespace

absl::Status Router::Cut(const csi::v1::CreateSnapshotRequest& request, link::Deadline deadline,
                         csi::v1::CreateSnapshotResponse& response) {
  const auto source = VolumeId::Parse(request.source_volume_id());
  if (!source) return NotFound("there is no volume '{}'", request.source_volume_id());
  for (const auto& place : env_.hub.snapshot_names().Find(request.name())) {
    if (place.node == source->node) continue;
    return AlreadyExists("a snapshot named '{}' exists on node '{}'", request.name(), place.node);
  }
  csi::v1::CreateSnapshotResponse answered;
  RETURN_IF_ERROR(CallOwner(request, deadline, answered));
  ASSIGN_OR_RETURN(const VolumeId id, IdOfSnapshot(env_.hub, *source, request.name(), deadline));
  if (answered.snapshot().snapshot_id() != ToSnapshotId(id)) {
    return Refuse(source->node, fmt::format("it is about '{}', not about snapshot '{}'",
                                            answered.snapshot().snapshot_id(), ToSnapshotId(id)));
  }
  env_.hub.snapshot_names().Created(id, request.name());
  response = std::move(answered);
  return absl::OkStatus();
}

absl::Status Router::Delete(const csi::v1::DeleteSnapshotRequest& request, link::Deadline deadline,
                            csi::v1::DeleteSnapshotResponse& response) {
  if (!IsGone(request.snapshot_id())) {
    const absl::Status deleted = CallOwner(request, deadline, response);
    if (!deleted.ok() && !absl::IsNotFound(deleted)) return deleted;
  }
  const auto id = ParseSnapshotId(request.snapshot_id());
  if (id) env_.hub.snapshot_names().Deleted(*id);
  return absl::OkStatus();
}

// What the node has of them, from the request's token on, as many as it asks for.
absl::Status Router::AddSnapshots(const std::string& node,
                                  const csi::v1::ListSnapshotsRequest& request,
                                  link::Deadline deadline,
                                  csi::v1::ListSnapshotsResponse& response) {
  csi::v1::ListSnapshotsResponse answered;
  RETURN_IF_ERROR(AskNode(node, request, deadline, answered));
  if (request.max_entries() != 0 && answered.entries_size() > request.max_entries()) {
    return Refuse(node, "it lists more snapshots than were asked for");
  }
  for (const auto& entry : answered.entries()) {
    const auto id = ParseSnapshotId(entry.snapshot().snapshot_id());
    if (id && id->node.empty()) continue;  // no node's own: the controller lists it itself
    ASSIGN_OR_RETURN(*response.add_entries()->mutable_snapshot(),
                     TakeListedSnapshot(node, entry.snapshot()));
  }
  if (answered.next_token().empty()) return absl::OkStatus();
  if (!ParseSnapshotId(answered.next_token())) {
    return Refuse(node, "its next_token is not the id of a snapshot");
  }
  response.set_next_token(node + "|" + answered.next_token());
  return absl::OkStatus();
}

// The controller's own snapshots first, then node after node.
absl::Status Router::List(const csi::v1::ListSnapshotsRequest& request, link::Deadline deadline,
                          csi::v1::ListSnapshotsResponse& response) {
  if (request.max_entries() < 0) return InvalidArgument("max_entries is negative");
  ASSIGN_OR_RETURN(SnapshotsToken token, ParseSnapshotsToken(request.starting_token()));
  const auto place = PlaceOf(request);
  if (IsFiltered(request) && !place) return absl::OkStatus();
  csi::v1::ListSnapshotsRequest part = request;
  part.set_starting_token(token.after);
  if (place && !place->node.empty()) return AddSnapshots(place->node, part, deadline, response);
  if (token.node.empty() && !env_.own_pools.all().empty()) {
    RETURN_IF_ERROR(env_.own.ListSnapshots(part, response));
    if (!response.next_token().empty()) response.set_next_token("|" + response.next_token());
  }
  if (place || !response.next_token().empty()) return absl::OkStatus();
  if (!env_.hub.WaitUntilSettled(deadline)) {
    return Unavailable("the controller has just started and waits for its nodes; try again");
  }
  for (const std::string& node : env_.hub.snapshot_names().Nodes()) {
    if (node < token.node) continue;
    const int have = response.entries_size();
    if ((request.max_entries() != 0 && have >= request.max_entries()) ||
        response.ByteSizeLong() > kMostBytesOfSnapshots) {
      response.set_next_token(node + "|");
      return absl::OkStatus();
    }
    part.set_starting_token(node == token.node ? token.after : "");
    if (request.max_entries() != 0) part.set_max_entries(request.max_entries() - have);
    RETURN_IF_ERROR(AddSnapshots(node, part, deadline, response));
    if (!response.next_token().empty()) return absl::OkStatus();
  }
  return absl::OkStatus();
}

grpc::Status Router::CreateSnapshot(grpc::ServerContext* context,
                                    const csi::v1::CreateSnapshotRequest* request,
                                    csi::v1::CreateSnapshotResponse* response) {
  return Serve(context, *request, *response,
               [&](link::Deadline deadline) { return Cut(*request, deadline, *response); });
}

grpc::Status Router::DeleteSnapshot(grpc::ServerContext* context,
                                    const csi::v1::DeleteSnapshotRequest* request,
                                    csi::v1::DeleteSnapshotResponse* response) {
  return Serve(context, *request, *response,
               [&](link::Deadline deadline) { return Delete(*request, deadline, *response); });
}

grpc::Status Router::GetSnapshot(grpc::ServerContext* context,
                                 const csi::v1::GetSnapshotRequest* request,
                                 csi::v1::GetSnapshotResponse* response) {
  return Forward(context, *request, *response);
}

grpc::Status Router::ListSnapshots(grpc::ServerContext* context,
                                   const csi::v1::ListSnapshotsRequest* request,
                                   csi::v1::ListSnapshotsResponse* response) {
  return Serve(context, *request, *response,
               [&](link::Deadline deadline) { return List(*request, deadline, *response); });
}

}  // namespace holdfast::controller
