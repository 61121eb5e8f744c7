// SPDX-License-Identifier: Apache-2.0
// The answer of each RPC of the CSI services to an empty request, and that exactly the implemented
// features are advertised.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "support/captured_stderr.h"
#include "support/rpc_table.h"

namespace holdfast {
namespace contract_test {

using test::LeaveEmpty;
using test::Rpc;
using test::Services;
using Names = std::set<std::string>;

Names NamesOf(const std::vector<Rpc>& rpcs) {
  Names names;
  for (const Rpc& rpc : rpcs) names.insert(rpc.name);
  return names;
}

Names MethodsOf(const std::string& service) {
  const auto* const descriptor =
      csi::v1::ProbeRequest::descriptor()->file()->FindServiceByName(service);
  REQUIRE(descriptor != nullptr);
  Names names;
  for (int i = 0; i < descriptor->method_count(); ++i) names.insert(descriptor->method(i)->name());
  return names;
}

Names Implemented(const std::vector<Rpc>& rpcs) {
  Names names;
  for (const Rpc& rpc : rpcs) {
    if (rpc.call(LeaveEmpty).error_code() != grpc::UNIMPLEMENTED) names.insert(rpc.name);
  }
  return names;
}

// The RPCs of each advertised capability, and the capabilities that have no RPC.
struct Advertised {
  Names rpcs;
  Names features;
};

template <typename Capability, typename Response>
Advertised Read(const Response& response, const std::map<std::string, Names>& meaning) {
  Advertised advertised;
  for (const auto& capability : response.capabilities()) {
    const std::string name = Capability::RPC::Type_Name(capability.rpc().type());
    const auto found = meaning.find(name);
    if (found == meaning.end()) {
      CHECK(advertised.features.insert(name).second);
    } else {
      for (const std::string& rpc : found->second) CHECK(advertised.rpcs.insert(rpc).second);
    }
  }
  return advertised;
}

TEST_CASE("the table has every method of the contract's services") {
  Services services;
  CHECK(NamesOf(services.IdentityRpcs()) == MethodsOf("Identity"));
  CHECK(NamesOf(services.ControllerRpcs()) == MethodsOf("Controller"));
  CHECK(NamesOf(services.GroupControllerRpcs()) == MethodsOf("GroupController"));
  CHECK(NamesOf(services.MetadataRpcs()) == MethodsOf("SnapshotMetadata"));
  CHECK(NamesOf(services.NodeRpcs()) == MethodsOf("Node"));
}

TEST_CASE("every RPC answers an empty request with its one right code") {
  const std::map<std::string, grpc::StatusCode> expected = {
      {"GetPluginInfo", grpc::OK},
      {"GetPluginCapabilities", grpc::OK},
      {"Probe", grpc::OK},
      {"CreateVolume", grpc::INVALID_ARGUMENT},
      {"DeleteVolume", grpc::INVALID_ARGUMENT},
      {"ControllerPublishVolume", grpc::UNIMPLEMENTED},
      {"ControllerUnpublishVolume", grpc::UNIMPLEMENTED},
      {"ValidateVolumeCapabilities", grpc::INVALID_ARGUMENT},
      {"ListVolumes", grpc::OK},
      {"GetCapacity", grpc::OK},
      {"ControllerGetCapabilities", grpc::OK},
      {"CreateSnapshot", grpc::INVALID_ARGUMENT},
      {"DeleteSnapshot", grpc::INVALID_ARGUMENT},
      {"ListSnapshots", grpc::OK},
      {"GetSnapshot", grpc::INVALID_ARGUMENT},
      {"ControllerExpandVolume", grpc::INVALID_ARGUMENT},
      {"ControllerGetVolume", grpc::INVALID_ARGUMENT},
      {"ControllerModifyVolume", grpc::UNIMPLEMENTED},
      {"GroupControllerGetCapabilities", grpc::OK},
      {"CreateVolumeGroupSnapshot", grpc::INVALID_ARGUMENT},
      {"DeleteVolumeGroupSnapshot", grpc::INVALID_ARGUMENT},
      {"GetVolumeGroupSnapshot", grpc::INVALID_ARGUMENT},
      {"GetMetadataAllocated", grpc::INVALID_ARGUMENT},
      {"GetMetadataDelta", grpc::INVALID_ARGUMENT},
      {"NodeStageVolume", grpc::INVALID_ARGUMENT},
      {"NodeUnstageVolume", grpc::INVALID_ARGUMENT},
      {"NodePublishVolume", grpc::INVALID_ARGUMENT},
      {"NodeUnpublishVolume", grpc::INVALID_ARGUMENT},
      {"NodeGetVolumeStats", grpc::INVALID_ARGUMENT},
      {"NodeExpandVolume", grpc::INVALID_ARGUMENT},
      {"NodeGetCapabilities", grpc::OK},
      {"NodeGetInfo", grpc::OK},
  };
  const test::CapturedStderr captured;
  Services services;
  const std::vector<Rpc> rpcs = services.AllRpcs();
  CHECK(rpcs.size() == expected.size());
  for (const Rpc& rpc : rpcs) {
    const grpc::Status status = rpc.call(LeaveEmpty);
    CAPTURE(rpc.name, status.error_message());
    CHECK(status.error_code() == expected.at(rpc.name));
  }
}

TEST_CASE("while recovering only what says who and how is answered") {
  const test::CapturedStderr captured;
  Services services;
  rpc::CallRunner recovering;
  controller::Service controller({Services::kDriver, Services::kNode, false, services.pools,
                                  services.node_state, services.volume_locks, recovering});
  node::Service node({Services::kDriver, Services::kNode, 0, services.pools, services.node_state,
                      services.volume_locks, recovering});
  const csi::v1::ListVolumesRequest list;
  csi::v1::ListVolumesResponse volumes;
  CHECK(controller.ListVolumes(nullptr, &list, &volumes).error_code() == grpc::UNAVAILABLE);
  csi::v1::NodeGetInfoResponse info;
  CHECK(node.NodeGetInfo(nullptr, nullptr, &info).ok());
  identity::Service identity(Services::kDriver, services.pools, recovering, {});
  csi::v1::ProbeResponse probe;
  REQUIRE(identity.Probe(nullptr, nullptr, &probe).ok());
  CHECK_FALSE(probe.ready().value());
}

TEST_CASE("the controller advertises exactly the RPCs that it implements") {
  const test::CapturedStderr captured;
  Services services;
  csi::v1::ControllerGetCapabilitiesResponse response;
  REQUIRE(services.controller.ControllerGetCapabilities(nullptr, nullptr, &response).ok());
  const Advertised advertised = Read<csi::v1::ControllerServiceCapability>(
      response,
      {{"CREATE_DELETE_VOLUME", {"CreateVolume", "DeleteVolume"}},
       {"PUBLISH_UNPUBLISH_VOLUME", {"ControllerPublishVolume", "ControllerUnpublishVolume"}},
       {"LIST_VOLUMES", {"ListVolumes"}},
       {"GET_CAPACITY", {"GetCapacity"}},
       {"CREATE_DELETE_SNAPSHOT", {"CreateSnapshot", "DeleteSnapshot"}},
       {"LIST_SNAPSHOTS", {"ListSnapshots"}},
       {"GET_SNAPSHOT", {"GetSnapshot"}},
       {"EXPAND_VOLUME", {"ControllerExpandVolume"}},
       {"GET_VOLUME", {"ControllerGetVolume"}},
       {"MODIFY_VOLUME", {"ControllerModifyVolume"}}});
  Names implemented = Implemented(services.ControllerRpcs());
  // These two belong to the service itself, without a capability.
  CHECK(implemented.erase("ControllerGetCapabilities") == 1);
  CHECK(implemented.erase("ValidateVolumeCapabilities") == 1);
  CHECK(advertised.rpcs == implemented);
  CHECK(advertised.features ==
        Names{"CLONE_VOLUME", "SINGLE_NODE_MULTI_WRITER", "VOLUME_CONDITION"});
}

TEST_CASE("the group controller advertises exactly the RPCs that it implements") {
  const test::CapturedStderr captured;
  Services services;
  csi::v1::GroupControllerGetCapabilitiesResponse response;
  REQUIRE(services.groups.GroupControllerGetCapabilities(nullptr, nullptr, &response).ok());
  const Advertised advertised = Read<csi::v1::GroupControllerServiceCapability>(
      response,
      {{"CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT",
        {"CreateVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot", "GetVolumeGroupSnapshot"}}});
  Names implemented = Implemented(services.GroupControllerRpcs());
  CHECK(implemented.erase("GroupControllerGetCapabilities") == 1);
  CHECK(advertised.rpcs == implemented);
  CHECK(advertised.features.empty());
}

TEST_CASE("the node advertises exactly the RPCs that it implements") {
  const test::CapturedStderr captured;
  Services services;
  csi::v1::NodeGetCapabilitiesResponse response;
  REQUIRE(services.node.NodeGetCapabilities(nullptr, nullptr, &response).ok());
  const Advertised advertised = Read<csi::v1::NodeServiceCapability>(
      response, {{"STAGE_UNSTAGE_VOLUME", {"NodeStageVolume", "NodeUnstageVolume"}},
                 {"GET_VOLUME_STATS", {"NodeGetVolumeStats"}},
                 {"EXPAND_VOLUME", {"NodeExpandVolume"}}});
  Names implemented = Implemented(services.NodeRpcs());
  for (const char* always :
       {"NodePublishVolume", "NodeUnpublishVolume", "NodeGetCapabilities", "NodeGetInfo"}) {
    CHECK(implemented.erase(always) == 1);
  }
  CHECK(advertised.rpcs == implemented);
  CHECK(advertised.features == Names{"SINGLE_NODE_MULTI_WRITER", "VOLUME_CONDITION"});
}

TEST_CASE("the plugin says who it is and what it has") {
  const test::CapturedStderr captured;
  Services services;
  csi::v1::GetPluginInfoResponse info;
  REQUIRE(services.identity.GetPluginInfo(nullptr, nullptr, &info).ok());
  CHECK(info.name() == Services::kDriver);
  CHECK_FALSE(info.vendor_version().empty());
  csi::v1::GetPluginCapabilitiesResponse capabilities;
  REQUIRE(services.identity.GetPluginCapabilities(nullptr, nullptr, &capabilities).ok());
  Names names;
  using Plugin = csi::v1::PluginCapability;
  for (const auto& capability : capabilities.capabilities()) {
    names.insert(capability.has_service()
                     ? Plugin::Service::Type_Name(capability.service().type())
                     : Plugin::VolumeExpansion::Type_Name(capability.volume_expansion().type()));
  }
  CHECK(names == Names{"CONTROLLER_SERVICE", "GROUP_CONTROLLER_SERVICE",
                       "VOLUME_ACCESSIBILITY_CONSTRAINTS", "SNAPSHOT_METADATA_SERVICE", "ONLINE"});
}

}  // namespace contract_test
}  // namespace holdfast
