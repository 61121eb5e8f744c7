// SPDX-License-Identifier: Apache-2.0
// csi.v1.Controller for a controller with nodes: every call is forwarded to the node that owns the
// bytes, or to the controller's own service where no node does.
#pragma once

#include <functional>
#include <string>

#include "controller/node_calls.h"
#include "controller/service.h"
#include "controller/volume_creation.h"
#include "core/key_lock.h"
#include "link/hub.h"
#include "proto/csi.grpc.pb.h"
#include "rpc/call_runner.h"

namespace holdfast::controller {

// Thread-safe. Answers as controller::Service does on the node, and adds where a volume is made
// (VolumeCreation) and what it means that a node is not connected: UNAVAILABLE, never NOT_FOUND and
// never OK; for a creation that may go elsewhere RESOURCE_EXHAUSTED, on which the CO chooses again.
// GetCapacity is answered from what the nodes have said; the rest is asked of them, as the table of
// RPCs says (rpc_table.h). What they answer is checked (node_calls.h): a node speaks for its own
// volumes only.
//
// Volumes of the controller's own pools, which every node reaches, never leave it: a class names
// such a pool, and their ids name no node. Where bytes go from them to a node's pool, or the other
// way, that node copies them. They are published to any node that is connected, or was
// not long ago; a volume of a node to that one, where it always is.
class Router final : public csi::v1::Controller::Service {
 public:
  struct Environment {
    std::string driver_name;
    bool attach;  // as controller::Service
    link::Hub& hub;
    const pool::Pools& own_pools;
    controller::Service& own;  // over own_pools
    KeyLock& volume_locks;
    rpc::CallRunner& calls;
    VolumeCreation::IssueTicket issue_ticket = nullptr;  // null: nodes exchange no snapshots
  };
  explicit Router(const Environment& environment)
      : env_(environment),
        nodes_(environment.hub),
        held_(environment.hub, ContentsOf(environment.own)),
        creation_(environment.driver_name, environment.hub, environment.volume_locks,
                  environment.issue_ticket, ContentsOf(environment.own)) {}

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

  // A page about a snapshot, from the node that has it or the own service.
  absl::StatusOr<pool::RangePage> FindRanges(const RangesQuestion& question,
                                             link::Deadline deadline);

 private:
  using Message = google::protobuf::Message;
  // What a call does beside its row of the table; it may take until then.
  using Body = std::function<absl::Status(link::Deadline)>;

  // The call as its row says (rpc_table.h): from which pools, in which frame, under which lock.
  // `pool` as CallRunner::Call.
  grpc::Status Serve(grpc::ServerContext* context, const Message& request, Message& response,
                     const Body& body, const std::string& pool = "");
  // Serve, where asking the owner is all the work.
  grpc::Status Forward(grpc::ServerContext* context, const Message& request, Message& response);
  // The node that owns the volume answers, and its row says what of that is believed.
  absl::Status CallOwner(const Message& request, link::Deadline deadline, Message& response);
  absl::Status AskNode(const std::string& node, const Message& request, link::Deadline deadline,
                       Message& answered);

  absl::Status Create(const csi::v1::CreateVolumeRequest& request, link::Deadline deadline,
                      csi::v1::CreateVolumeResponse& response);
  // router_contents.cc
  static OwnContents ContentsOf(controller::Service& own);
  absl::Status CreateInOwnPool(const csi::v1::CreateVolumeRequest& request,
                               const ContentSource& source, link::Deadline deadline,
                               csi::v1::CreateVolumeResponse& response);
  absl::Status RestoreInOwnPool(const csi::v1::CreateVolumeRequest& request,
                                const VolumeId& snapshot, link::Deadline deadline,
                                csi::v1::CreateVolumeResponse& response);
  absl::Status CloneInOwnPool(const csi::v1::CreateVolumeRequest& request, const VolumeId& volume,
                              link::Deadline deadline, csi::v1::CreateVolumeResponse& response);
  absl::Status FillOwn(const csi::v1::CreateVolumeRequest& request, const HeldContent& source,
                       link::Deadline deadline, csi::v1::CreateVolumeResponse& response);
  absl::Status Delete(const csi::v1::DeleteVolumeRequest& request, link::Deadline deadline,
                      csi::v1::DeleteVolumeResponse& response);
  absl::Status Publish(const csi::v1::ControllerPublishVolumeRequest& request,
                       link::Deadline deadline);
  absl::Status RequireNode(const std::string& node, link::Deadline deadline);
  [[nodiscard]] bool IsOwn(const std::string& subject) const;
  // FAILED_PRECONDITION if its storage is declared lost (Hub::IsLost).
  [[nodiscard]] absl::Status RequireNotLost(const std::string& subject) const;
  [[nodiscard]] bool IsGone(const std::string& subject) const;
  [[nodiscard]] bool NamesOwnPool(
      const google::protobuf::Map<std::string, std::string>& parameters) const;
  // PoolKey of where the volume will be made; empty if that is open.
  std::string KeyOf(const csi::v1::CreateVolumeRequest& request) const;
  absl::Status List(const csi::v1::ListVolumesRequest& request, link::Deadline deadline,
                    csi::v1::ListVolumesResponse& response);
  bool AddNode(const std::vector<VolumeId>& ids, const std::string& after, bool ask,
               link::Deadline deadline, csi::v1::ListVolumesResponse& response);

  // router_snapshots.cc
  absl::Status Cut(const csi::v1::CreateSnapshotRequest& request, link::Deadline deadline,
                   csi::v1::CreateSnapshotResponse& response);
  absl::Status Delete(const csi::v1::DeleteSnapshotRequest& request, link::Deadline deadline,
                      csi::v1::DeleteSnapshotResponse& response);
  absl::Status List(const csi::v1::ListSnapshotsRequest& request, link::Deadline deadline,
                    csi::v1::ListSnapshotsResponse& response);
  absl::Status AddSnapshots(const std::string& node, const csi::v1::ListSnapshotsRequest& request,
                            link::Deadline deadline, csi::v1::ListSnapshotsResponse& response);

  absl::Status AnswerCapacity(const csi::v1::GetCapacityRequest& request,
                              csi::v1::GetCapacityResponse& response);
  const Environment env_;
  NodeCalls nodes_;
  HeldContents held_;
  VolumeCreation creation_;
};

}  // namespace holdfast::controller
