// SPDX-License-Identifier: Apache-2.0
// csi.v1.Controller: protobuf in, pools, protobuf out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controller/content_messages.h"
#include "controller/content_transfers.h"
#include "controller/local_groups.h"
#include "controller/range_messages.h"
#include "controller/volume_requests.h"
#include "core/key_lock.h"
#include "pool/pools.h"
#include "proto/csi.grpc.pb.h"
#include "proto/link.pb.h"
#include "rpc/call_runner.h"
#include "state/node_state.h"

namespace holdfast::controller {

// Thread-safe. RPCs that are not overridden answer UNIMPLEMENTED and are not advertised.
class Service final : public csi::v1::Controller::Service {
 public:
  struct Environment {
    std::string driver_name;
    std::string node_id;
    bool attach;  // ControllerPublishVolume and ControllerUnpublishVolume are served
    const pool::Pools& pools;
    const state::NodeState& state;
    KeyLock& volume_locks;
    rpc::CallRunner& calls;
    // Called when there may be a copy, or a table of digests, to be made in steps in the
    // background.
    std::function<void()> copy_in_background = nullptr;
    Bytes copy_rate = 0;  // as ContentTransfers
  };
  explicit Service(const Environment& environment)
      : env_(environment),
        groups_(environment.pools, environment.volume_locks),
        transfers_(environment.volume_locks, environment.copy_rate) {}

  // Before the first call, where there is a link.
  void SetLink(ContentLink link) { transfers_.SetLink(std::move(link)); }
  [[nodiscard]] const ContentTransfers& transfers() const { return transfers_; }

  grpc::Status CreateVolume(grpc::ServerContext* context,
                            const csi::v1::CreateVolumeRequest* request,
                            csi::v1::CreateVolumeResponse* response) override;
  grpc::Status DeleteVolume(grpc::ServerContext* context,
                            const csi::v1::DeleteVolumeRequest* request,
                            csi::v1::DeleteVolumeResponse* response) override;
  grpc::Status ValidateVolumeCapabilities(
      grpc::ServerContext* context, const csi::v1::ValidateVolumeCapabilitiesRequest* request,
      csi::v1::ValidateVolumeCapabilitiesResponse* response) override;
  grpc::Status ListVolumes(grpc::ServerContext* context, const csi::v1::ListVolumesRequest* request,
                           csi::v1::ListVolumesResponse* response) override;
  grpc::Status GetCapacity(grpc::ServerContext* context, const csi::v1::GetCapacityRequest* request,
                           csi::v1::GetCapacityResponse* response) override;
  grpc::Status ControllerGetCapabilities(
      grpc::ServerContext* context, const csi::v1::ControllerGetCapabilitiesRequest* request,
      csi::v1::ControllerGetCapabilitiesResponse* response) override;
  grpc::Status ControllerExpandVolume(grpc::ServerContext* context,
                                      const csi::v1::ControllerExpandVolumeRequest* request,
                                      csi::v1::ControllerExpandVolumeResponse* response) override;
  grpc::Status ControllerGetVolume(grpc::ServerContext* context,
                                   const csi::v1::ControllerGetVolumeRequest* request,
                                   csi::v1::ControllerGetVolumeResponse* response) override;

  grpc::Status CreateSnapshot(grpc::ServerContext* context,
                              const csi::v1::CreateSnapshotRequest* request,
                              csi::v1::CreateSnapshotResponse* response) override;
  grpc::Status DeleteSnapshot(grpc::ServerContext* context,
                              const csi::v1::DeleteSnapshotRequest* request,
                              csi::v1::DeleteSnapshotResponse* response) override;
  grpc::Status ListSnapshots(grpc::ServerContext* context,
                             const csi::v1::ListSnapshotsRequest* request,
                             csi::v1::ListSnapshotsResponse* response) override;
  grpc::Status GetSnapshot(grpc::ServerContext* context, const csi::v1::GetSnapshotRequest* request,
                           csi::v1::GetSnapshotResponse* response) override;

  grpc::Status ControllerPublishVolume(grpc::ServerContext* context,
                                       const csi::v1::ControllerPublishVolumeRequest* request,
                                       csi::v1::ControllerPublishVolumeResponse* response) override;
  grpc::Status ControllerUnpublishVolume(
      grpc::ServerContext* context, const csi::v1::ControllerUnpublishVolumeRequest* request,
      csi::v1::ControllerUnpublishVolumeResponse* response) override;

  // CreateVolume from a snapshot on another node, whose bytes come by the link.
  grpc::Status CreateVolumeFrom(const link::v1::Incoming& incoming,
                                const csi::v1::CreateVolumeRequest& request,
                                csi::v1::CreateVolumeResponse& response);
  // The methods of the link that CSI does not have (link.proto).
  grpc::Status DescribeContent(const link::v1::DescribeContent& request,
                               link::v1::Content& response);
  grpc::Status SendContent(const link::v1::SendContent& request);
  grpc::Status CopyContent(const link::v1::CopyContent& request);
  grpc::Status HoldContent(const link::v1::HoldContent& request, link::v1::HeldContent& response);
  grpc::Status ReleaseContent(const link::v1::ReleaseContent& request);
  // The same of group snapshots (group_messages.h); the response goes to `answer`.
  grpc::Status CarryOutGroup(const link::v1::Command& command, std::string& answer);
  // Group snapshots of volumes in pools of this process.
  LocalGroups& groups() { return groups_; }
  grpc::Status FindRanges(const link::v1::FindRanges& request, link::v1::Ranges& response);

  // A page about a snapshot in a pool of this process. Errors as Pool::FindRanges, and NOT_FOUND.
  absl::StatusOr<pool::RangePage> FindRanges(const RangesQuestion& question) const;

  // Bytes that a volume gets from another pool.
  struct Arrival {
    Content content;
    // Begins to bring them to the volume, or says what became of that, within a moment.
    std::function<absl::Status(pool::Pool&, const VolumeId&)> bring;
  };
  // CreateVolume without its frame, for callers that hold NameKey of the request's name. Without
  // an arrival the source, if there is one, is in a pool of this process, or the volume is
  // complete.
  absl::Status Create(const csi::v1::CreateVolumeRequest& request,
                      csi::v1::CreateVolumeResponse& response, const Arrival* arrival = nullptr);

  // What another pool must know of the snapshot, which is in a pool of this process.
  absl::StatusOr<Content> Describe(const std::string& snapshot_id) const;

  // A snapshot of the volume, which is in a pool of this process, that is held for the clone of
  // that name (docs/adr/0032): the one that was made before, or else a new one. NOT_FOUND: there is
  // no such volume; ABORTED while the snapshot is being copied; else as Pool::Create.
  absl::StatusOr<HeldContent> Hold(const VolumeId& volume, const std::string& name);
  // Removes it. OK if there is none.
  absl::Status Release(const VolumeId& volume, const std::string& name);

  // Whether the pool that the request names has a complete volume of the request's name.
  absl::StatusOr<bool> HasVolumeFor(const csi::v1::CreateVolumeRequest& request) const;

  // ALREADY_EXISTS if a pool other than `but` has a volume of this name. A pool that cannot be
  // asked is passed over, with a line in the log: what is wrong with one does not stop the others.
  absl::Status RequireUnused(const std::string& name, const std::string& but) const;

  // ControllerPublishVolume to a node that is known to exist, without its frame.
  absl::Status Publish(const csi::v1::ControllerPublishVolumeRequest& request);

  // ListVolumes without its frame, for a caller that adds to the answer. A page has no more than
  // some thousand entries, whatever is asked for: clients take messages of 4 MiB.
  absl::Status List(const csi::v1::ListVolumesRequest& request,
                    csi::v1::ListVolumesResponse& response);

  // ListSnapshots without its frame; pages as List.
  absl::Status ListSnapshots(const csi::v1::ListSnapshotsRequest& request,
                             csi::v1::ListSnapshotsResponse& response);

 private:
  // service_clones.cc
  std::optional<VolumeId> VolumeElsewhereIn(const csi::v1::CreateVolumeRequest& request) const;
  absl::Status CloneFromElsewhere(const csi::v1::CreateVolumeRequest& request,
                                  const VolumeId& volume, csi::v1::CreateVolumeResponse& response);
  absl::Status RequireFit(const csi::v1::CreateVolumeRequest& request,
                          const VolumeId& volume) const;
  absl::StatusOr<HeldContent> FindHeld(const pool::Pools::Located& volume,
                                       const VolumeId& snapshot);

  // service_contents.cc
  absl::Status CreateWith(const csi::v1::CreateVolumeRequest& request,
                          csi::v1::CreateVolumeResponse& response, const Arrival* arrival);
  absl::StatusOr<Volume> Make(const CreateRequest& create);
  absl::StatusOr<Volume> MakeFromElsewhere(const CreateRequest& create, const Arrival* arrival);
  absl::StatusOr<pool::Pools::Located> LocateContent(const std::string& snapshot_id) const;
  absl::StatusOr<std::unique_ptr<ContentReader>> ReadContent(const std::string& snapshot_id,
                                                             const std::string& version) const;
  absl::Status BringFromHere(const std::string& snapshot_id, pool::Pool& pool, const VolumeId& id,
                             const Content& content);
  grpc::Status RunCreation(grpc::ServerContext* context,
                           const csi::v1::CreateVolumeRequest& request,
                           csi::v1::CreateVolumeResponse& response,
                           const link::v1::Incoming* incoming);

  absl::Status Delete(const csi::v1::DeleteVolumeRequest& request);
  absl::Status Unpublish(const csi::v1::ControllerUnpublishVolumeRequest& request);
  absl::Status Validate(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
                        csi::v1::ValidateVolumeCapabilitiesResponse& response);
  absl::Status AnswerCapacity(const csi::v1::GetCapacityRequest& request,
                              csi::v1::GetCapacityResponse& response);
  [[nodiscard]] absl::StatusOr<PoolCapacity> CapacityOf(pool::Pool& pool, Provisioning provisioning,
                                                        bool is_only_one) const;
  absl::Status Expand(const csi::v1::ControllerExpandVolumeRequest& request,
                      csi::v1::ControllerExpandVolumeResponse& response);
  absl::Status Get(const csi::v1::ControllerGetVolumeRequest& request,
                   csi::v1::ControllerGetVolumeResponse& response);

  void CopyInBackground() const {
    if (env_.copy_in_background) env_.copy_in_background();
  }

  // service_snapshots.cc
  absl::Status CutSnapshot(const csi::v1::CreateSnapshotRequest& request,
                           csi::v1::CreateSnapshotResponse& response);
  absl::Status RemoveSnapshot(const csi::v1::DeleteSnapshotRequest& request);
  absl::Status FindSnapshot(const csi::v1::GetSnapshotRequest& request,
                            csi::v1::GetSnapshotResponse& response);
  absl::StatusOr<std::vector<Volume>> MatchingSnapshots(
      const csi::v1::ListSnapshotsRequest& request, const std::string& after,
      std::size_t limit) const;
  absl::Status RequireUnusedSnapshot(const std::string& name, const std::string& but) const;
  absl::StatusOr<pool::Pools::Located> LocateSnapshot(
      const std::string& snapshot_id,
      const google::protobuf::Map<std::string, std::string>& secrets) const;
  static rpc::CallRunner::Call CallAbout(std::string_view method, const std::string& snapshot_id,
                                         LogLevel level = LogLevel::kInfo);

  absl::StatusOr<pool::Pools::Located> Locate(const std::string& volume_id) const;
  absl::StatusOr<pool::Pools::Located> LocateAs(
      const std::string& volume_id, const google::protobuf::Map<std::string, std::string>& secrets,
      pool::Credentials credentials) const;
  absl::Status RequirePlace(const csi::v1::CreateVolumeRequest& request,
                            const CreateRequest& create) const;
  // PoolKey of the pool that the parameters name; empty if there is none.
  std::string KeyOf(const google::protobuf::Map<std::string, std::string>& parameters) const;
  absl::Status CheckTopology(const csi::v1::TopologyRequirement& requirement,
                             const pool::PoolInfo& pool) const;
  csi::v1::Volume Describe(const Volume& volume, const pool::PoolInfo& pool) const;

  const Environment env_;
  LocalGroups groups_;
  ContentTransfers transfers_;  // the last: its threads use the rest
};

}  // namespace holdfast::controller
