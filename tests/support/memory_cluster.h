// SPDX-License-Identifier: Apache-2.0
// A controller as a CO calls it: hub, router, its own pool, and nodes. In one process, without
// sockets.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/group_service.h"
#include "controller/router.h"
#include "support/await.h"
#include "support/csi_requests.h"
#include "support/in_process_server.h"
#include "support/link_peer.h"
#include "support/memory_node.h"
#include "support/outcome.h"

namespace holdfast::test {

// A CO's controller with nodes and its own pool "shared".
struct MemoryCluster {
  using Stub = csi::v1::Controller::Stub;
  using Methods = std::vector<std::string>;
  using milliseconds = std::chrono::milliseconds;

  explicit MemoryCluster(const link::HubTimes& times = {.reconnect_grace = milliseconds(20),
                                                        .settle = milliseconds(0)},
                         std::vector<LostPool> lost = {})
      : hub(kDriverName, belief, times, std::move(lost)) {}

  MemoryNode& Add(const std::string& name, Bytes room = kTiB) {
    return nodes.emplace_back(hub, server, name, room);
  }

  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request, milliseconds time = kPatience) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + time);
    Response response;
    const grpc::Status status = ((*stub).*method)(&context, request, &response);
    if (status.ok()) return response;
    return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  auto Create(const csi::v1::CreateVolumeRequest& request) {
    return Call(&Stub::CreateVolume, request);
  }
  auto Delete(const std::string& id) {
    return Call(&Stub::DeleteVolume, OfVolume<csi::v1::DeleteVolumeRequest>(id));
  }
  auto Get(const std::string& id) {
    return Call(&Stub::ControllerGetVolume, OfVolume<csi::v1::ControllerGetVolumeRequest>(id));
  }
  auto Expand(const std::string& id, Bytes bytes) {
    auto request = OfVolume<csi::v1::ControllerExpandVolumeRequest>(id);
    request.mutable_capacity_range()->set_required_bytes(bytes);
    return Call(&Stub::ControllerExpandVolume, request);
  }
  auto Validate(const std::string& id) {
    auto request = OfVolume<csi::v1::ValidateVolumeCapabilitiesRequest>(id);
    *request.add_volume_capabilities() = MountCapability();
    return Call(&Stub::ValidateVolumeCapabilities, request);
  }
  auto Publish(const std::string& id, const std::string& node) {
    auto request = OfVolume<csi::v1::ControllerPublishVolumeRequest>(id);
    request.set_node_id(node);
    *request.mutable_volume_capability() = MountCapability();
    return Call(&Stub::ControllerPublishVolume, request);
  }
  auto Unpublish(const std::string& id, const std::string& node) {
    auto request = OfVolume<csi::v1::ControllerUnpublishVolumeRequest>(id);
    request.set_node_id(node);
    return Call(&Stub::ControllerUnpublishVolume, request);
  }
  auto List(int max_entries = 0, const std::string& token = "", milliseconds time = kPatience) {
    csi::v1::ListVolumesRequest request;
    request.set_max_entries(max_entries);
    request.set_starting_token(token);
    return Call(&Stub::ListVolumes, request, time);
  }
  auto Snap(const std::string& volume_id, const std::string& name) {
    csi::v1::CreateSnapshotRequest request;
    request.set_source_volume_id(volume_id);
    request.set_name(name);
    return Call(&Stub::CreateSnapshot, request);
  }
  auto DeleteSnapshot(const std::string& id) {
    csi::v1::DeleteSnapshotRequest request;
    request.set_snapshot_id(id);
    return Call(&Stub::DeleteSnapshot, request);
  }
  auto GetSnapshot(const std::string& id) {
    csi::v1::GetSnapshotRequest request;
    request.set_snapshot_id(id);
    return Call(&Stub::GetSnapshot, request);
  }
  auto ListSnapshots(const csi::v1::ListSnapshotsRequest& request = {}) {
    return Call(&Stub::ListSnapshots, request);
  }
  absl::StatusOr<Bytes> Capacity(const std::string& node = "", const std::string& pool = "") {
    csi::v1::GetCapacityRequest request;
    if (!node.empty()) {
      *request.mutable_accessible_topology() = rpc::NodeTopology(kDriverName, node);
    }
    if (!pool.empty()) (*request.mutable_parameters())["pool"] = pool;
    ASSIGN_OR_RETURN(const auto response, Call(&Stub::GetCapacity, request));
    return response.available_capacity();
  }

  // Creates it in the pool "shared".
  std::string CreateShared(const std::string& name) {
    csi::v1::CreateVolumeRequest request = CreateOf(name);
    (*request.mutable_parameters())["pool"] = "shared";
    return Value(Create(request)).volume().volume_id();
  }
  // By node, the methods that each has received since the last query.
  std::map<std::string, Methods> TakeMethods() {
    std::map<std::string, Methods> heard;
    for (MemoryNode& node : nodes) {
      const Methods methods = node.TakeMethods();
      if (!methods.empty()) heard[node.name()] = methods;
    }
    return heard;
  }

  Belief belief;
  link::Hub hub;
  MemoryService own{"", {"shared"}, /*attach=*/true};
  controller::Router router{
      {kDriverName, true, hub, own.pools, *own.service, own.locks, own.calls}};
  controller::GroupService groups{{kDriverName, own.service->groups(), own.locks, own.calls, &hub}};
  InProcessServer server{&hub.service(), &router};
  std::unique_ptr<Stub> stub = std::make_unique<Stub>(server.NewChannel());
  std::list<MemoryNode> nodes;  // the last: their streams belong to the server
};

}  // namespace holdfast::test
