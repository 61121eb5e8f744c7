// SPDX-License-Identifier: Apache-2.0
// csi.v1.GroupController: snapshots of several volumes at one instant (docs/adr/0030).
#pragma once

#include <string>

#include "controller/group_places.h"
#include "core/key_lock.h"
#include "link/hub.h"
#include "proto/csi.grpc.pb.h"
#include "rpc/call_runner.h"

namespace holdfast::controller {

// Thread-safe. No list of groups is kept: a group is what its members' records say.
class GroupService final : public csi::v1::GroupController::Service {
 public:
  struct Environment {
    std::string driver_name;
    LocalGroups& own;
    KeyLock& volume_locks;
    rpc::CallRunner& calls;
    link::Hub* hub = nullptr;  // null: there are no nodes
  };
  explicit GroupService(const Environment& environment) : env_(environment) {}

  grpc::Status GroupControllerGetCapabilities(
      grpc::ServerContext* context, const csi::v1::GroupControllerGetCapabilitiesRequest* request,
      csi::v1::GroupControllerGetCapabilitiesResponse* response) override;
  grpc::Status CreateVolumeGroupSnapshot(
      grpc::ServerContext* context, const csi::v1::CreateVolumeGroupSnapshotRequest* request,
      csi::v1::CreateVolumeGroupSnapshotResponse* response) override;
  grpc::Status DeleteVolumeGroupSnapshot(
      grpc::ServerContext* context, const csi::v1::DeleteVolumeGroupSnapshotRequest* request,
      csi::v1::DeleteVolumeGroupSnapshotResponse* response) override;
  grpc::Status GetVolumeGroupSnapshot(grpc::ServerContext* context,
                                      const csi::v1::GetVolumeGroupSnapshotRequest* request,
                                      csi::v1::GetVolumeGroupSnapshotResponse* response) override;

 private:
  absl::Status Create(const csi::v1::CreateVolumeGroupSnapshotRequest& request, GroupPlaces& places,
                      csi::v1::VolumeGroupSnapshot& response);
  absl::Status Delete(const csi::v1::DeleteVolumeGroupSnapshotRequest& request,
                      GroupPlaces& places);
  absl::Status Get(const csi::v1::GetVolumeGroupSnapshotRequest& request, GroupPlaces& places,
                   csi::v1::VolumeGroupSnapshot& response);
  absl::Status Describe(const SnapshotGroup& group, GroupPlaces& places,
                        csi::v1::VolumeGroupSnapshot& response);

  const Environment env_;
};

}  // namespace holdfast::controller
