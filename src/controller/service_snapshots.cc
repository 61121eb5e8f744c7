// SPDX-License-Identifier: Apache-2.0
// The calls about snapshots. A snapshot is in the pool of its volume, and stays there when the
// volume is deleted.
#include <algorithm>
#include <optional>
#include <vector>

#include "controller/service.h"
#include "controller/snapshot_messages.h"
#include "controller/snapshot_request.h"
#include "controller/volume_requests.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

constexpr std::size_t kMostSnapshots = 4000;  // some 2 MiB

}  // namespace

absl::Status Service::CutSnapshot(const csi::v1::CreateSnapshotRequest& request,
                                  csi::v1::CreateSnapshotResponse& response) {
  ASSIGN_OR_RETURN(VolumeSpec spec, ParseSnapshotRequest(request));
  ASSIGN_OR_RETURN(const auto located, LocateAs(request.source_volume_id(), request.secrets(),
                                                pool::Credentials::kRequired));
  ASSIGN_OR_RETURN(const auto name_lock,
                   env_.volume_locks.TryLock(SnapshotNameKey(spec.name), "CreateSnapshot"));
  RETURN_IF_ERROR(RequireUnusedSnapshot(spec.name, located.pool->info().name));
  spec.source = ContentSource{VolumeRole::kVolume, located.id};
  const VolumeId id = located.pool->IdForSnapshotName(spec.name);
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(id.ToString(), "CreateSnapshot"));
  ASSIGN_OR_RETURN(const auto source_lock,
                   env_.volume_locks.TryLock(request.source_volume_id(), "CreateSnapshot"));
  ASSIGN_OR_RETURN(const Volume snapshot, located.pool->Create(spec));
  *response.mutable_snapshot() = DescribeSnapshot(snapshot);
  if (snapshot.state == VolumeState::kCopying) CopyInBackground();
  return absl::OkStatus();
}

absl::Status Service::RequireUnusedSnapshot(const std::string& name, const std::string& but) const {
  for (pool::Pool* const pool : env_.pools.all()) {
    if (pool->info().name == but) continue;
    const absl::Status found = pool->GetSnapshot(pool->IdForSnapshotName(name)).status();
    if (!found.ok()) continue;
    return AlreadyExists("a snapshot named '{}' exists in pool '{}'", name, pool->info().name);
  }
  return absl::OkStatus();
}

absl::Status Service::RemoveSnapshot(const csi::v1::DeleteSnapshotRequest& request) {
  RETURN_IF_ERROR(rpc::RequireId(request.snapshot_id(), "snapshot_id"));
  const auto located = LocateSnapshot(request.snapshot_id(), request.secrets());
  if (absl::IsNotFound(located.status())) return absl::OkStatus();
  RETURN_IF_ERROR(located.status());
  ASSIGN_OR_RETURN(const auto lock,
                   env_.volume_locks.TryLock(located->id.ToString(), "DeleteSnapshot"));
  return located->pool->DeleteSnapshot(located->id);
}

absl::Status Service::FindSnapshot(const csi::v1::GetSnapshotRequest& request,
                                   csi::v1::GetSnapshotResponse& response) {
  RETURN_IF_ERROR(rpc::RequireId(request.snapshot_id(), "snapshot_id"));
  ASSIGN_OR_RETURN(const auto located, LocateSnapshot(request.snapshot_id(), request.secrets()));
  ASSIGN_OR_RETURN(const Volume snapshot, located.pool->GetSnapshot(located.id));
  if (snapshot.held()) return NotFound("there is no snapshot '{}'", request.snapshot_id());
  *response.mutable_snapshot() = DescribeSnapshot(snapshot);
  return absl::OkStatus();
}

// One is asked for by its id, or all are walked through, with those of one volume picked out.
absl::Status Service::ListSnapshots(const csi::v1::ListSnapshotsRequest& request,
                                    csi::v1::ListSnapshotsResponse& response) {
  if (request.max_entries() < 0) return InvalidArgument("max_entries is negative");
  const auto start = ParseSnapshotId(request.starting_token());
  if (!request.starting_token().empty() && !start) {
    return Aborted(
        "starting_token was not given by an earlier ListSnapshots; start again without it");
  }
  const auto wanted = static_cast<std::size_t>(request.max_entries());
  const std::size_t limit = wanted == 0 ? kMostSnapshots : std::min(wanted, kMostSnapshots);
  ASSIGN_OR_RETURN(const std::vector<Volume> found,
                   MatchingSnapshots(request, start ? start->ToString() : "", limit + 1));
  for (std::size_t i = 0; i < std::min(found.size(), limit); ++i) {
    *response.add_entries()->mutable_snapshot() = DescribeSnapshot(found[i]);
  }
  if (found.size() > limit) {
    response.set_next_token(response.entries(response.entries_size() - 1).snapshot().snapshot_id());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Volume>> Service::MatchingSnapshots(
    const csi::v1::ListSnapshotsRequest& request, const std::string& after,
    std::size_t limit) const {
  const auto matches = [&](const Volume& snapshot) {
    return !snapshot.held() &&
           (request.source_volume_id().empty() ||
            (snapshot.source && snapshot.source->ToString() == request.source_volume_id()));
  };
  std::vector<Volume> found;
  if (!request.snapshot_id().empty()) {
    const auto located = LocateSnapshot(request.snapshot_id(), request.secrets());
    if (absl::IsNotFound(located.status())) return found;
    RETURN_IF_ERROR(located.status());
    const auto snapshot = located->pool->GetSnapshot(located->id);
    if (absl::IsNotFound(snapshot.status())) return found;
    RETURN_IF_ERROR(snapshot.status());
    if (matches(*snapshot)) found.push_back(*snapshot);
    return found;
  }
  for (std::string last = after; found.size() < limit;) {
    ASSIGN_OR_RETURN(std::vector<Volume> page, env_.pools.ListSnapshots(last, limit));
    for (Volume& snapshot : page) {
      last = snapshot.id.ToString();
      if (matches(snapshot) && found.size() < limit) found.push_back(std::move(snapshot));
    }
    if (page.size() < limit) break;
  }
  return found;
}

absl::StatusOr<pool::Pools::Located> Service::LocateSnapshot(
    const std::string& snapshot_id,
    const google::protobuf::Map<std::string, std::string>& secrets) const {
  const auto id = ParseSnapshotId(snapshot_id);
  if (!id) return NotFound("there is no snapshot '{}'", snapshot_id);
  return LocateAs(id->ToString(), secrets, pool::Credentials::kRequired);
}

grpc::Status Service::CreateSnapshot(grpc::ServerContext* context,
                                     const csi::v1::CreateSnapshotRequest* request,
                                     csi::v1::CreateSnapshotResponse* response) {
  return env_.calls.Run(context, {"CreateSnapshot", request->source_volume_id()},
                        [&] { return CutSnapshot(*request, *response); });
}

grpc::Status Service::DeleteSnapshot(grpc::ServerContext* context,
                                     const csi::v1::DeleteSnapshotRequest* request,
                                     csi::v1::DeleteSnapshotResponse*) {
  return env_.calls.Run(context, CallAbout("DeleteSnapshot", request->snapshot_id()),
                        [&] { return RemoveSnapshot(*request); });
}

grpc::Status Service::GetSnapshot(grpc::ServerContext* context,
                                  const csi::v1::GetSnapshotRequest* request,
                                  csi::v1::GetSnapshotResponse* response) {
  return env_.calls.Run(context, CallAbout("GetSnapshot", request->snapshot_id(), LogLevel::kDebug),
                        [&] { return FindSnapshot(*request, *response); });
}

grpc::Status Service::ListSnapshots(grpc::ServerContext* context,
                                    const csi::v1::ListSnapshotsRequest* request,
                                    csi::v1::ListSnapshotsResponse* response) {
  return env_.calls.Run(context, {"ListSnapshots", request->snapshot_id(), LogLevel::kDebug},
                        [&] { return ListSnapshots(*request, *response); });
}

// The pool that a snapshot's id names is the one that the call waits for.
rpc::CallRunner::Call Service::CallAbout(std::string_view method, const std::string& snapshot_id,
                                         LogLevel level) {
  const auto id = ParseSnapshotId(snapshot_id);
  return {method, snapshot_id, level, id ? rpc::PoolKey(id->pool, id->node) : ""};
}

}  // namespace holdfast::controller
