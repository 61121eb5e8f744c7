// SPDX-License-Identifier: Apache-2.0
// CSI requests and the link's commands as bytes, through the real handlers, over a real file pool
// in a directory that is thrown away. Each step of an input is a byte that chooses the RPC and a
// piece, its request. There are no loop devices and no mounts for nobody, so a stage gets as far as
// the attaching. What arrives from another node are the bytes that the command's ticket is.
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/stat.h>

#include <filesystem>

#include "controller/link_commands.h"
#include "controller/rpc_table.h"
#include "controller/service.h"
#include "core/log.h"
#include "core/message_text.h"
#include "file/file_kind.h"
#include "file/file_pool.h"
#include "node/service.h"
#include "scratch.h"

namespace holdfast::fuzz {
namespace {

constexpr char kDriver[] = "csi.holdfast.dev";
constexpr char kNode[] = "n1";
constexpr int kMaxSteps = 8;
// In an input these represent values that only the process knows.
constexpr char kVolumeMark[] = "V";
constexpr char kSnapshotMark[] = "S";
constexpr char kPathMark[] = "P";

class Driver final {
 public:
  Driver() {
    for (const char* name : {"pool", "state", "roots"}) {
      Require(::mkdir((scratch_ + "/" + name).c_str(), 0700) == 0,
              "the scratch directory is empty");
    }
    state_ = os::UniqueFd(::open((scratch_ + "/state").c_str(), O_RDONLY | O_DIRECTORY));
    node_state_ = std::make_unique<state::NodeState>(*state::NodeState::Open(state_.get()));
    PoolConfig config{
        .name = "default", .syntax = &file::FileSyntax(), .location = scratch_ + "/pool"};
    auto opened = file::FilePool::Open(config, kNode, state_.get());
    Require(opened.ok() && pools_.Add(*std::move(opened)).ok(), "a pool is made");
    Require((*pools_.Find(""))->Recover().ok(), "an empty pool recovers");
    calls_.SetReady();
    controller_ = std::make_unique<controller::Service>(controller::Service::Environment{
        kDriver, kNode, true, pools_, *node_state_, locks_, calls_});
    controller_->SetLink({.send = Send, .take = Take, .cancel = nullptr});
    node_ = std::make_unique<node::Service>(
        node::Service::Environment{kDriver, kNode, 0, pools_, *node_state_, locks_, calls_});
  }

  void Try(Input input) {
    volume_ = MakeVolume();
    snapshot_ = ToSnapshotId(*VolumeId::Parse(volume_));  // until there is one
    for (int step = 0; step < kMaxSteps && !input.empty(); ++step) {
      const std::uint8_t choice = input.Byte();
      Step(choice, input.Piece());
    }
    RemoveAll();
  }

 private:
  std::string MakeVolume() {
    csi::v1::CreateVolumeRequest request;
    request.set_name("pv");
    request.mutable_capacity_range()->set_required_bytes(64 << 20);
    auto& capability = *request.add_volume_capabilities();
    capability.mutable_mount()->set_fs_type("ext4");
    capability.mutable_access_mode()->set_mode(
        csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
    (*request.mutable_parameters())["provisioning"] = "thin";
    csi::v1::CreateVolumeResponse response;
    const grpc::Status made = controller_->CreateVolume(nullptr, &request, &response);
    Require(made.ok(), "an honest volume can be made at any time");
    return response.volume().volume_id();
  }

  // The two ends of a transfer, without the way between them.
  static absl::Status Send(const std::string&, ContentReader& reader) {
    return reader.Next(0).status();
  }
  static absl::Status Take(const std::string& ticket, ContentWriter& writer) {
    if (ticket.empty()) return Unavailable("the source has gone");
    const auto room = static_cast<std::size_t>(writer.size() - writer.kept());
    const std::string_view bytes = std::string_view(ticket).substr(0, room);
    if (!bytes.empty()) RETURN_IF_ERROR(writer.Write(writer.kept(), bytes));
    return writer.Finish();
  }

  // Also of volumes that no call has returned, which no list has.
  void RemoveAll() {
    Require(pools_.List("", 0).ok() && pools_.ListSnapshots("", 0).ok(),
            "volumes and snapshots can be listed at any time");
    constexpr int kRounds = 20;  // a copy keeps its source until it is deleted itself
    const std::string volumes = scratch_ + "/pool/volumes";
    for (int round = 0; round < kRounds && !std::filesystem::is_empty(volumes); ++round) {
      for (const auto& entry : std::filesystem::directory_iterator(volumes)) {
        Remove(VolumeId{.pool = "default", .node = kNode, .uuid = entry.path().filename()});
      }
    }
    for (const char* place : {"/pool/volumes", "/pool/trash", "/state/stages"}) {
      Require(std::filesystem::is_empty(scratch_ + place), "nothing is left of deleted volumes");
    }
  }

  void Remove(const VolumeId& id) {
    csi::v1::DeleteSnapshotRequest snapshot;
    snapshot.set_snapshot_id(ToSnapshotId(id));
    csi::v1::DeleteSnapshotResponse snapshot_response;
    Check(controller_->DeleteSnapshot(nullptr, &snapshot, &snapshot_response));
    csi::v1::DeleteVolumeRequest volume;
    volume.set_volume_id(id.ToString());
    csi::v1::DeleteVolumeResponse volume_response;
    Check(controller_->DeleteVolume(nullptr, &volume, &volume_response));
  }

  void CreateSnapshot(const std::string& bytes) {
    csi::v1::CreateSnapshotRequest request;
    if (!request.ParseFromString(bytes)) return;
    Substitute(request);
    csi::v1::CreateSnapshotResponse response;
    const grpc::Status status = controller_->CreateSnapshot(nullptr, &request, &response);
    Check(status);
    if (!status.ok()) return;
    const csi::v1::Snapshot& made = response.snapshot();
    Require(made.source_volume_id() == request.source_volume_id() && made.size_bytes() > 0 &&
                made.has_creation_time() && ParseSnapshotId(made.snapshot_id()).has_value(),
            "a snapshot has everything that CSI requires");
    snapshot_ = made.snapshot_id();
  }

  // The service has another function of that name.
  void ListSnapshots(const std::string& bytes) {
    using Method = grpc::Status (controller::Service::*)(grpc::ServerContext*,
                                                         const csi::v1::ListSnapshotsRequest*,
                                                         csi::v1::ListSnapshotsResponse*);
    Call(*controller_, static_cast<Method>(&controller::Service::ListSnapshots), bytes);
  }

  template <typename Request, typename Response, typename Service>
  void Call(Service& service,
            grpc::Status (Service::*method)(grpc::ServerContext*, const Request*, Response*),
            const std::string& bytes) {
    Request request;
    if (!request.ParseFromString(bytes)) return;
    Substitute(request);
    Response response;
    Check((service.*method)(nullptr, &request, &response));
  }

  void Execute(const std::string& bytes) {
    link::v1::Command command;
    if (!command.ParseFromString(bytes)) return;
    if (const controller::Rpc* const rpc = controller::FindRpc(command.method())) {
      SubstituteIn(*rpc->request, command);
    }
    if (command.method() == "DescribeContent") {
      SubstituteIn(link::v1::DescribeContent::default_instance(), command);
    }
    if (command.method() == "SendContent") {
      SubstituteIn(link::v1::SendContent::default_instance(), command);
    }
    if (command.method() == "CopyContent") {
      SubstituteIn(link::v1::CopyContent::default_instance(), command);
    }
    const link::v1::Result result = controller::Execute(*controller_, command);
    Check(grpc::Status(static_cast<grpc::StatusCode>(result.code()), result.message()));
  }

  void SubstituteIn(const google::protobuf::Message& kind, link::v1::Command& command) const {
    const std::unique_ptr<google::protobuf::Message> request(kind.New());
    if (!request->ParseFromString(command.request())) return;
    Substitute(*request);
    command.set_request(request->SerializeAsString());
  }

  // Replaces the marks in texts of the request and of the messages in it.
  void Substitute(google::protobuf::Message& request) const {
    const auto& type = *request.GetDescriptor();
    const auto& reflection = *request.GetReflection();
    for (int i = 0; i < type.field_count(); ++i) {
      const auto* const field = type.field(i);
      if (field->is_repeated()) continue;
      if (field->cpp_type() == field->CPPTYPE_MESSAGE && reflection.HasField(request, field)) {
        Substitute(*reflection.MutableMessage(&request, field));
      }
      if (field->cpp_type() != field->CPPTYPE_STRING || !reflection.HasField(request, field)) {
        continue;
      }
      const std::string value = reflection.GetString(request, field);
      if (value == kVolumeMark) reflection.SetString(&request, field, volume_);
      if (value == kSnapshotMark) reflection.SetString(&request, field, snapshot_);
      if (value.starts_with(kPathMark)) {
        reflection.SetString(&request, field, scratch_ + "/roots/" + value.substr(1));
      }
    }
  }

  static void Check(const grpc::Status& status) {
    Require(status.error_code() != grpc::UNKNOWN && status.error_code() != grpc::DATA_LOSS,
            "codes are those that callers know");
    Require(status.error_message().find("unexpected failure") == std::string::npos,
            "no exception leaves a handler");
    Require(status.ok() == status.error_message().empty(), "a failure says why");
    Require(status.error_message().size() <= kMaxMessageText, "a message is short");
  }

  void Step(std::uint8_t choice, const std::string& bytes) {
    controller::Service& c = *controller_;
    node::Service& n = *node_;
    switch (choice % 20) {
      case 0:
        return Call(c, &controller::Service::CreateVolume, bytes);
      case 1:
        return Call(c, &controller::Service::DeleteVolume, bytes);
      case 2:
        return Call(c, &controller::Service::ControllerExpandVolume, bytes);
      case 3:
        return Call(c, &controller::Service::ValidateVolumeCapabilities, bytes);
      case 4:
        return Call(c, &controller::Service::ListVolumes, bytes);
      case 5:
        return Call(c, &controller::Service::GetCapacity, bytes);
      case 6:
        return Call(n, &node::Service::NodeStageVolume, bytes);
      case 7:
        return Call(n, &node::Service::NodeUnstageVolume, bytes);
      case 8:
        return Call(n, &node::Service::NodePublishVolume, bytes);
      case 9:
        return Call(n, &node::Service::NodeUnpublishVolume, bytes);
      case 10:
        return Call(n, &node::Service::NodeGetVolumeStats, bytes);
      case 11:
        return Call(n, &node::Service::NodeExpandVolume, bytes);
      case 12:
        return Call(c, &controller::Service::ControllerGetVolume, bytes);
      case 13:
        return Execute(bytes);
      case 14:
        return Call(c, &controller::Service::ControllerPublishVolume, bytes);
      case 15:
        return Call(c, &controller::Service::ControllerUnpublishVolume, bytes);
      case 16:
        return CreateSnapshot(bytes);
      case 17:
        return Call(c, &controller::Service::DeleteSnapshot, bytes);
      case 18:
        return ListSnapshots(bytes);
      default:
        return Call(c, &controller::Service::GetSnapshot, bytes);
    }
  }

  const std::string scratch_ = MakeScratch();
  os::UniqueFd state_;
  pool::Pools pools_;
  std::unique_ptr<state::NodeState> node_state_;
  KeyLock locks_;
  rpc::CallRunner calls_;
  std::unique_ptr<controller::Service> controller_;
  std::unique_ptr<node::Service> node_;
  std::string volume_;
  std::string snapshot_;
};

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  holdfast::StartLog(holdfast::LogLevel::kError);
  google::protobuf::SetLogHandler(nullptr);  // about text that is not UTF-8, each time
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* const driver = new holdfast::fuzz::Driver;  // lives as long as the process
  driver->Try({data, size});
  return 0;
}
