// SPDX-License-Identifier: Apache-2.0
// Every RPC of the served CSI services as something that can be called with any request, on service
// objects without a socket.
#pragma once

#include <google/protobuf/message.h>

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/group_service.h"
#include "controller/service.h"
#include "controller/snapshot_metadata_service.h"
#include "identity/service.h"
#include "node/service.h"
#include "support/memory_pool.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::test {

// Changes an empty request before it is sent.
using Fill = std::function<void(google::protobuf::Message& request)>;
inline void LeaveEmpty(google::protobuf::Message&) {}

struct Rpc {
  std::string name;
  std::function<grpc::Status(const Fill&)> call;
};

// The services over a pool in memory.
struct Services {
  static constexpr char kDriver[] = "csi.holdfast.dev";
  static constexpr char kNode[] = "n1";

  Services() {
    REQUIRE_OK(pools.Add(std::make_unique<MemoryPool>("default", kNode)));
    calls.SetReady();
  }

  [[nodiscard]] std::vector<Rpc> IdentityRpcs();
  [[nodiscard]] std::vector<Rpc> ControllerRpcs();
  [[nodiscard]] std::vector<Rpc> GroupControllerRpcs();
  [[nodiscard]] std::vector<Rpc> MetadataRpcs();
  [[nodiscard]] std::vector<Rpc> NodeRpcs();
  [[nodiscard]] std::vector<Rpc> AllRpcs() {
    std::vector<Rpc> all = IdentityRpcs();
    for (Rpc& rpc : ControllerRpcs()) all.push_back(std::move(rpc));
    for (Rpc& rpc : GroupControllerRpcs()) all.push_back(std::move(rpc));
    for (Rpc& rpc : MetadataRpcs()) all.push_back(std::move(rpc));
    for (Rpc& rpc : NodeRpcs()) all.push_back(std::move(rpc));
    return all;
  }

  TempDirectory state;
  pool::Pools pools;
  state::NodeState node_state = Value(state::NodeState::Open(state.fd()));
  KeyLock volume_locks;
  rpc::CallRunner calls;
  identity::Service identity{kDriver, pools, calls, {}};
  controller::Service controller{{kDriver, kNode, false, pools, node_state, volume_locks, calls}};
  controller::GroupService groups{{kDriver, controller.groups(), volume_locks, calls}};
  controller::SnapshotMetadataService metadata{
      calls, [this](const auto& question, auto) { return controller.FindRanges(question); }};
  node::Service node{{kDriver, kNode, 0, pools, node_state, volume_locks, calls}};
};

// `Method` is the virtual function of the generated base class, so an RPC that is not overridden is
// there too.
template <typename Service, typename Request, typename Response>
Rpc MakeRpc(Service& service, std::string name,
            grpc::Status (Service::*method)(grpc::ServerContext*, const Request*, Response*)) {
  return {std::move(name), [&service, method](const Fill& fill) {
            Request request;
            Response response;
            fill(request);
            return (service.*method)(nullptr, &request, &response);
          }};
}

#define HOLDFAST_RPC(service, name) MakeRpc(service, #name, &Base::name)

inline std::vector<Rpc> Services::IdentityRpcs() {
  using Base = csi::v1::Identity::Service;
  Base& service = identity;
  return {HOLDFAST_RPC(service, GetPluginInfo), HOLDFAST_RPC(service, GetPluginCapabilities),
          HOLDFAST_RPC(service, Probe)};
}

inline std::vector<Rpc> Services::ControllerRpcs() {
  using Base = csi::v1::Controller::Service;
  Base& service = controller;
  return {HOLDFAST_RPC(service, CreateVolume),
          HOLDFAST_RPC(service, DeleteVolume),
          HOLDFAST_RPC(service, ControllerPublishVolume),
          HOLDFAST_RPC(service, ControllerUnpublishVolume),
          HOLDFAST_RPC(service, ValidateVolumeCapabilities),
          HOLDFAST_RPC(service, ListVolumes),
          HOLDFAST_RPC(service, GetCapacity),
          HOLDFAST_RPC(service, ControllerGetCapabilities),
          HOLDFAST_RPC(service, CreateSnapshot),
          HOLDFAST_RPC(service, DeleteSnapshot),
          HOLDFAST_RPC(service, ListSnapshots),
          HOLDFAST_RPC(service, GetSnapshot),
          HOLDFAST_RPC(service, ControllerExpandVolume),
          HOLDFAST_RPC(service, ControllerGetVolume),
          HOLDFAST_RPC(service, ControllerModifyVolume)};
}

inline std::vector<Rpc> Services::GroupControllerRpcs() {
  using Base = csi::v1::GroupController::Service;
  Base& service = groups;
  return {HOLDFAST_RPC(service, GroupControllerGetCapabilities),
          HOLDFAST_RPC(service, CreateVolumeGroupSnapshot),
          HOLDFAST_RPC(service, DeleteVolumeGroupSnapshot),
          HOLDFAST_RPC(service, GetVolumeGroupSnapshot)};
}

// Streams, which are refused before anything is sent.
template <typename Request, typename Response>
Rpc MakeStreamRpc(csi::v1::SnapshotMetadata::Service& service, std::string name,
                  grpc::Status (csi::v1::SnapshotMetadata::Service::*method)(
                      grpc::ServerContext*, const Request*, grpc::ServerWriter<Response>*)) {
  return {std::move(name), [&service, method](const Fill& fill) {
            Request request;
            fill(request);
            return (service.*method)(nullptr, &request, nullptr);
          }};
}

inline std::vector<Rpc> Services::MetadataRpcs() {
  using Base = csi::v1::SnapshotMetadata::Service;
  return {MakeStreamRpc(metadata, "GetMetadataAllocated", &Base::GetMetadataAllocated),
          MakeStreamRpc(metadata, "GetMetadataDelta", &Base::GetMetadataDelta)};
}

inline std::vector<Rpc> Services::NodeRpcs() {
  using Base = csi::v1::Node::Service;
  Base& service = node;
  return {HOLDFAST_RPC(service, NodeStageVolume),     HOLDFAST_RPC(service, NodeUnstageVolume),
          HOLDFAST_RPC(service, NodePublishVolume),   HOLDFAST_RPC(service, NodeUnpublishVolume),
          HOLDFAST_RPC(service, NodeGetVolumeStats),  HOLDFAST_RPC(service, NodeExpandVolume),
          HOLDFAST_RPC(service, NodeGetCapabilities), HOLDFAST_RPC(service, NodeGetInfo)};
}

#undef HOLDFAST_RPC

}  // namespace holdfast::test
