// SPDX-License-Identifier: Apache-2.0
#include "controller/rpc_table.h"

#include <catch2/catch.hpp>
#include <set>

#include "controller/link_commands.h"
#include "support/rpc_table.h"

namespace holdfast::controller {
namespace rpc_table_test {

using test::Services;

link::v1::Command CommandOf(const std::string& method, const std::string& request = "") {
  link::v1::Command command;
  command.set_method(method);
  command.set_request(request);
  return command;
}

TEST_CASE("the table has exactly the RPCs that are served, with their own messages") {
  const auto& served =
      *google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("csi.v1.Controller");
  Services services;
  std::set<std::string> methods;
  for (const Rpc& rpc : Rpcs()) {
    CAPTURE(rpc.method);
    CHECK(methods.emplace(rpc.method).second);
    CHECK(FindRpc(rpc.method) == &rpc);
    CHECK(&RpcOf(*rpc.request) == &rpc);
    const auto* const method = served.FindMethodByName(std::string(rpc.method));
    REQUIRE(method != nullptr);
    CHECK(rpc.request->GetDescriptor() == method->input_type());
    CHECK(rpc.response->GetDescriptor() == method->output_type());
    CHECK((rpc.answered_by != AnsweredBy::kOwner || rpc.check != nullptr));
  }
  // This service does not attach (Services).
  methods.erase("ControllerPublishVolume");
  methods.erase("ControllerUnpublishVolume");
  for (const test::Rpc& rpc : services.ControllerRpcs()) {
    const bool is_served =
        rpc.call(test::LeaveEmpty).error_code() != grpc::StatusCode::UNIMPLEMENTED;
    CHECK((methods.erase(rpc.name) == 1) == is_served);
  }
  CHECK(methods.empty());
}

TEST_CASE("a node carries out a command with the service's own answer") {
  Services services;
  csi::v1::CreateVolumeRequest request;
  request.set_name("pv");
  auto& capability = *request.add_volume_capabilities();
  capability.mutable_mount();
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  const link::v1::Result result =
      Execute(services.controller, CommandOf("CreateVolume", request.SerializeAsString()));
  CHECK(result.code() == 0);
  csi::v1::CreateVolumeResponse response;
  REQUIRE(response.ParseFromString(result.response()));
  CHECK_THAT(response.volume().volume_id(), Catch::StartsWith("default:n1:"));
  const link::v1::Result failed = Execute(services.controller, CommandOf("DeleteVolume"));
  CHECK(failed.code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK_THAT(failed.message(), Catch::Contains("volume_id"));
  CHECK(failed.response().empty());
}

TEST_CASE("a node carries out no other methods") {
  Services services;
  for (const char* method : {"", "Nothing", "createvolume", "ControllerModifyVolume",
                             "NodeStageVolume", "/csi.v1.Controller/CreateVolume", "GetCapacity",
                             "ControllerGetCapabilities", "ControllerPublishVolume"}) {
    CAPTURE(method);
    const link::v1::Result result = Execute(services.controller, CommandOf(method));
    CHECK(result.code() == grpc::StatusCode::UNIMPLEMENTED);
    CHECK_THAT(result.message(), Catch::Contains("older than the controller's"));
    CHECK(result.response().empty());
    CHECK_FALSE(ChangesSpace(method));
  }
  const link::v1::Result result =
      Execute(services.controller, CommandOf("\x1b[31m" + std::string(1 << 20, 'x')));
  CHECK(result.message().size() < 300);
  CHECK_THAT(result.message(), !Catch::Contains("\x1b"));
}

TEST_CASE("bytes that are no request are refused") {
  Services services;
  for (const std::string bytes : {"\x0a", "\x0b\x0b", "\x0a\x02\xff"}) {
    for (const Rpc& rpc : Rpcs()) {
      if (rpc.answered_by == AnsweredBy::kController) continue;
      CAPTURE(rpc.method);
      const link::v1::Result result =
          Execute(services.controller, CommandOf(std::string(rpc.method), bytes));
      CHECK(result.code() == grpc::StatusCode::INVALID_ARGUMENT);
      CHECK_THAT(result.message(), Catch::Contains("cannot be parsed"));
    }
  }
}

TEST_CASE("what changes the room in a pool") {
  for (const char* method : {"CreateVolume", "DeleteVolume", "ControllerExpandVolume",
                             "CreateSnapshot", "DeleteSnapshot"}) {
    CHECK(ChangesSpace(method));
  }
  for (const char* method : {"ControllerGetVolume", "ListVolumes", "ValidateVolumeCapabilities",
                             "GetSnapshot", "ListSnapshots"}) {
    CHECK_FALSE(ChangesSpace(method));
  }
}

}  // namespace rpc_table_test
}  // namespace holdfast::controller
