// SPDX-License-Identifier: Apache-2.0
// No secret of a request ever appears in an output: not in the log, not in a status message.
#include <google/protobuf/reflection.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "support/captured_stderr.h"
#include "support/rpc_table.h"

namespace holdfast {
namespace secrets_test {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using test::Rpc;
using test::Services;

constexpr char kSecret[] = "sentinel-4711-secret";

bool IsSecret(const FieldDescriptor& field) {
  return field.options().GetExtension(csi::v1::csi_secret);
}

// How many secret fields the message itself has; each gets an entry whose key and value are secret.
int FillSecrets(Message& message) {
  int filled = 0;
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!IsSecret(field)) continue;
    REQUIRE(field.is_map());
    Message& entry = *message.GetReflection()->AddMessage(&message, &field);
    const Descriptor& entry_type = *entry.GetDescriptor();
    entry.GetReflection()->SetString(&entry, entry_type.map_key(), kSecret);
    entry.GetReflection()->SetString(&entry, entry_type.map_value(), kSecret);
    ++filled;
  }
  return filled;
}

void SetText(Message& message, const char* name, const std::string& text) {
  const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
  if (field != nullptr) message.GetReflection()->SetString(&message, field, text);
}

// Sends the request through its checks, as far as each RPC gets with a pool in memory.
void FillPlausibly(Message& request, const std::string& volume_id, const std::string& directory) {
  SetText(request, "name", "pvc-1");
  SetText(request, "volume_id", volume_id);
  for (const char* path : {"staging_target_path", "target_path", "volume_path"}) {
    SetText(request, path, directory + "/" + path);
  }
  const auto* const sources = request.GetDescriptor()->FindFieldByName("source_volume_ids");
  if (sources != nullptr) request.GetReflection()->AddString(&request, sources, volume_id);
  csi::v1::VolumeCapability capability;
  capability.mutable_mount();
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  const auto* const reflection = request.GetReflection();
  const auto* field = request.GetDescriptor()->FindFieldByName("volume_capability");
  if (field != nullptr) reflection->MutableMessage(&request, field)->CopyFrom(capability);
  field = request.GetDescriptor()->FindFieldByName("volume_capabilities");
  if (field != nullptr) reflection->AddMessage(&request, field)->CopyFrom(capability);
  field = request.GetDescriptor()->FindFieldByName("capacity_range");
  if (field != nullptr) {
    csi::v1::CapacityRange range;
    range.set_required_bytes(kGiB);
    reflection->MutableMessage(&request, field)->CopyFrom(range);
  }
}

void CheckSilent(const Rpc& rpc, const test::Fill& fill) {
  const grpc::Status status = rpc.call(fill);
  CAPTURE(rpc.name, status.error_message());
  CHECK_THAT(status.error_message(), !Catch::Contains(kSecret));
  CHECK_THAT(status.error_details(), !Catch::Contains(kSecret));
}

TEST_CASE("no secret of any request is logged or answered") {
  StartLog(LogLevel::kDebug);
  Services services;
  pool::Pool& pool = *test::Value(services.pools.Find(""));
  VolumeSpec spec;
  spec.name = "pvc-1";
  spec.filesystem = "ext4";
  const std::string id = test::Value(pool.Create(spec)).id.ToString();
  std::set<std::string> with_secrets;
  std::string log;
  {
    const test::CapturedStderr captured;
    for (const Rpc& rpc : services.AllRpcs()) {
      CheckSilent(rpc, [&](Message& request) {
        if (FillSecrets(request) > 0) with_secrets.insert(rpc.name);
      });
      CheckSilent(rpc, [&](Message& request) {
        FillPlausibly(request, id, services.state.path());
        FillSecrets(request);
      });
    }
    log = captured.text();
  }
  StartLog(LogLevel::kInfo);
  CHECK_THAT(log, Catch::Contains("CreateVolume") && Catch::Contains("NodeGetInfo"));
  CHECK_THAT(log, !Catch::Contains(kSecret));
  CHECK(with_secrets ==
        std::set<std::string>{"CreateVolume", "DeleteVolume", "ControllerPublishVolume",
                              "ControllerUnpublishVolume", "ValidateVolumeCapabilities",
                              "CreateSnapshot", "DeleteSnapshot", "ListSnapshots", "GetSnapshot",
                              "ControllerExpandVolume", "ControllerModifyVolume",
                              "CreateVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot",
                              "GetVolumeGroupSnapshot", "GetMetadataAllocated", "GetMetadataDelta",
                              "NodeStageVolume", "NodePublishVolume", "NodeExpandVolume"});
}

}  // namespace secrets_test
}  // namespace holdfast
