// SPDX-License-Identifier: Apache-2.0
// The controller's end of the link against a node that may say anything: frames over a real stream
// to the hub, and answers to commands that the router sends for a CO. A step of an input is a byte
// and a piece: an even byte sends the piece as a frame; an odd one lets the CO call, with the piece
// as the node's answer. A proof without a nonce gets the right one, a register without driver or
// protocol the right ones, a pool without an id one, an answer the right id, and the names of
// volumes are ended before anything else is said: or hardly an input would get past these.
#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "controller/router.h"
#include "controller/service.h"
#include "core/message_text.h"
#include "core/volume_id.h"
#include "input.h"
#include "link/frame.h"
#include "link/hub.h"
#include "link/limits.h"
#include "link/pool_checks.h"
#include "link/volume_names.h"
#include "rpc/topology.h"
#include "scratch.h"

namespace holdfast::fuzz {
namespace {

constexpr char kDriver[] = "csi.holdfast.dev";
constexpr char kUuid[] = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001";
constexpr int kMaxSteps = 16;

// Certificates are not tested here.
class Anybody final : public link::NodeIdentity {
 public:
  absl::Status Check(const std::vector<std::string>&, const link::v1::Register&) override {
    return absl::OkStatus();
  }
};

// Unused by a controller without its own pools.
const state::NodeState& State() {
  static const os::UniqueFd directory(::open(MakeScratch().c_str(), O_RDONLY | O_DIRECTORY));
  static const state::NodeState kept = *state::NodeState::Open(directory.get());
  return kept;
}

// A stream that a node holds.
class Node final {
 public:
  explicit Node(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(link::v1::Link::NewStub(channel)), stream_(stub_->Connect(&context_)) {}

  // Sends it; false if the stream is over then, or will be.
  bool Send(link::v1::FromNode frame) {
    Complete(frame);
    if (naming_ && !frame.has_volumes() && !EndNaming()) return false;
    if (!Write(frame) || !IsFrame(frame)) return false;
    switch (frame.message_case()) {
      case link::v1::FromNode::kRegister:
        pools_ = link::IdsOf(frame.register_().pools());
        volumes_ = link::NamedVolumes(pools_);
        snapshots_ = link::NamedVolumes(link::SnapshotNameSpaces(pools_).value_or(link::PoolIds()));
        return name_.empty() && TakeChallenge(frame.register_().node());
      case link::v1::FromNode::kProof:
        if (name_.empty() || proved() || frame.proof().nonce() != nonce_) return false;
        naming_ = true;
        return true;
      case link::v1::FromNode::kVolumes:
        if (!naming_ || !volumes_.Add(frame.volumes().volumes()).ok() ||
            !snapshots_.Add(frame.volumes().snapshots()).ok()) {
          return false;
        }
        if (frame.volumes().last()) StartAnswering();
        return true;
      case link::v1::FromNode::kPools:
        return proved() && link::IdsOf(frame.pools()) == pools_ &&
               link::CheckPools(*frame.mutable_pools()).ok();
      case link::v1::FromNode::kResult:
        return proved();
      case link::v1::FromNode::MESSAGE_NOT_SET:
        return false;
    }
    return false;
  }

  // The answers to the next commands. Set only while no command is running.
  void SetAnswer(link::v1::Result answer) { answer_ = std::move(answer); }

  // Names no more volumes; false if the stream is over.
  bool EndNaming() {
    if (!naming_) return true;
    link::v1::FromNode last;
    last.mutable_volumes()->set_last(true);
    if (!Write(last)) return false;
    StartAnswering();
    return true;
  }

  [[nodiscard]] bool proved() const { return reader_.joinable(); }
  [[nodiscard]] const std::string& name() const { return name_; }

  void HangUp() {
    stream_->WritesDone();
    if (proved()) reader_.join();
    for (link::v1::ToNode rest; stream_->Read(&rest);) continue;
    Require(!stream_->Finish().ok(), "a stream ends by being cut, never well");
  }

 private:
  void Complete(link::v1::FromNode& frame) const {
    if (frame.has_proof() && frame.proof().nonce().empty()) {
      frame.mutable_proof()->set_nonce(nonce_);
    }
    if (frame.has_pools()) CompletePools(*frame.mutable_pools());
    if (!frame.has_register_()) return;
    link::v1::Register& message = *frame.mutable_register_();
    CompletePools(*message.mutable_pools());
    if (message.driver().empty()) message.set_driver(kDriver);
    if (message.protocol() == 0) message.set_protocol(link::kProtocol);
  }

  static void CompletePools(link::v1::Pools& pools) {
    for (auto& pool : *pools.mutable_pools()) {
      if (pool.id().empty()) pool.set_id(kUuid);
    }
  }

  // Whether the wire's bytes are taken at all: parsers pass over some that are not.
  static bool IsFrame(const link::v1::FromNode& frame) {
    const grpc::Slice bytes(frame.SerializeAsString());
    return link::ParseFrame(grpc::ByteBuffer(&bytes, 1), link::kMaxMessageBytes).ok();
  }

  void StartAnswering() {
    naming_ = false;
    reader_ = std::thread([this] { AnswerCommands(); });
  }

  bool TakeChallenge(const std::string& name) {
    link::v1::ToNode answer;
    if (!stream_->Read(&answer)) return false;
    Require(ValidateNodeId(name).ok(), "a name that is no node's is refused");
    Require(answer.challenge().nonce().size() == 36, "a name is challenged");
    nonce_ = answer.challenge().nonce();
    name_ = name;
    return true;
  }

  void AnswerCommands() {
    for (link::v1::ToNode message; stream_->Read(&message);) {
      Require(message.has_command(), "a node that has proved itself is told commands");
      link::v1::FromNode frame;
      *frame.mutable_result() = answer_;
      frame.mutable_result()->set_id(message.command().id());
      Write(frame);
    }
  }

  bool Write(const link::v1::FromNode& frame) {
    const std::lock_guard lock(writing_);  // an answer may arrive before its Write returns
    return stream_->Write(frame);
  }

  grpc::ClientContext context_;
  const std::unique_ptr<link::v1::Link::Stub> stub_;
  const std::unique_ptr<grpc::ClientReaderWriter<link::v1::FromNode, link::v1::ToNode>> stream_;
  std::string name_;
  std::string nonce_;
  link::PoolIds pools_;  // as registered
  link::NamedVolumes volumes_;
  link::NamedVolumes snapshots_;
  bool naming_ = false;
  link::v1::Result answer_;
  std::mutex writing_;
  std::thread reader_;
};

class Controller final {
 public:
  Controller() {
    calls_.SetReady();
    grpc::ServerBuilder builder;
    builder.RegisterService(&hub_.service());
    server_ = builder.BuildAndStart();
  }

  void Try(Input input) {
    Node node(server_->InProcessChannel({}));
    bool open = true;
    for (int step = 0; open && step < kMaxSteps && !input.empty(); ++step) {
      const std::uint8_t choice = input.Byte();
      const std::string piece = input.Piece();
      if (choice % 2 == 0) {
        link::v1::FromNode frame;
        open = frame.ParseFromString(piece) && node.Send(std::move(frame));
      } else if (node.EndNaming() && node.proved()) {
        link::v1::Result answer;
        open = answer.ParseFromString(piece);
        node.SetAnswer(std::move(answer));
        if (open) Call(choice / 2, node.name());
      }
    }
    if (open && node.EndNaming() &&
        node.proved()) {  // everything that was sent has arrived when a command is answered
      node.SetAnswer({});
      Call(0, node.name());
      MeasureAll();
    }
    node.HangUp();
  }

 private:
  void Call(int choice, const std::string& node) {
    Require(hub_.WaitFor(node, link::Deadline::clock::now() + std::chrono::seconds(60)),
            "a node that has proved itself is connected");
    const std::string id = VolumeId{.pool = "default", .node = node, .uuid = kUuid}.ToString();
    const std::string snapshot = ToSnapshotId({.pool = "default", .node = node, .uuid = kUuid});
    switch (choice % 11) {
      case 0:
        return Get(id, node);
      case 1:
        (void)Check<csi::v1::DeleteVolumeResponse>(&controller::Router::DeleteVolume,
                                                   OfVolume<csi::v1::DeleteVolumeRequest>(id));
        return;
      case 2:
        return Expand(id);
      case 3:
        return Validate(id);
      case 4:
        return Publish(id, node);
      case 5:
        return Create(node, "");
      case 6:
        return CreateSnapshot(id, node);
      case 7:
        return ListSnapshots(node);
      case 8:
        return GetSnapshot(snapshot);
      case 9:
        (void)Check<csi::v1::DeleteSnapshotResponse>(
            &controller::Router::DeleteSnapshot,
            OfSnapshot<csi::v1::DeleteSnapshotRequest>(snapshot));
        return;
      default:
        return Create(node, snapshot);
    }
  }

  template <typename Request>
  static Request OfSnapshot(const std::string& id) {
    Request request;
    request.set_snapshot_id(id);
    return request;
  }

  static void RequireOf(const csi::v1::Snapshot& snapshot, const std::string& node) {
    const auto id = ParseSnapshotId(snapshot.snapshot_id());
    Require(id && id->node == node, "a node answers for its own snapshots");
    const auto source = VolumeId::Parse(snapshot.source_volume_id());
    Require(source && source->node == node, "a snapshot in a node's pool is of its own volume");
    Require(snapshot.size_bytes() >= 0 && snapshot.has_creation_time() &&
                snapshot.group_snapshot_id().empty(),
            "a snapshot has what CSI requires, and nothing else");
  }

  void CreateSnapshot(const std::string& id, const std::string& node) {
    csi::v1::CreateSnapshotRequest request;
    request.set_source_volume_id(id);
    request.set_name("snap");
    const auto answer =
        Check<csi::v1::CreateSnapshotResponse>(&controller::Router::CreateSnapshot, request);
    if (!answer) return;
    RequireOf(answer->snapshot(), node);
    Require(answer->snapshot().source_volume_id() == id, "the snapshot is of what was asked for");
  }

  void ListSnapshots(const std::string& node) {
    const auto answer = Check<csi::v1::ListSnapshotsResponse>(&controller::Router::ListSnapshots,
                                                              csi::v1::ListSnapshotsRequest());
    if (!answer) return;
    for (const auto& entry : answer->entries()) RequireOf(entry.snapshot(), node);
  }

  void GetSnapshot(const std::string& snapshot) {
    const auto answer = Check<csi::v1::GetSnapshotResponse>(
        &controller::Router::GetSnapshot, OfSnapshot<csi::v1::GetSnapshotRequest>(snapshot));
    Require(!answer || answer->snapshot().snapshot_id() == snapshot,
            "the snapshot is the one that was asked for");
  }

  template <typename Request>
  static Request OfVolume(const std::string& id) {
    Request request;
    request.set_volume_id(id);
    return request;
  }

  // The node decides only what only a node can know.
  static void RequireOf(const csi::v1::Volume& volume, const std::string& node, Bytes least) {
    csi::v1::Volume bare;
    bare.set_volume_id(volume.volume_id());
    bare.set_capacity_bytes(volume.capacity_bytes());
    *bare.add_accessible_topology() = rpc::NodeTopology(kDriver, node);
    const auto id = VolumeId::Parse(volume.volume_id());
    Require(id && id->node == node, "a node answers for its own volumes");
    Require(volume.capacity_bytes() >= least, "a volume is as large as it was asked for");
    Require(bare.SerializeAsString() == volume.SerializeAsString(),
            "nothing else of a volume is the node's to say");
  }

  void Get(const std::string& id, const std::string& node) {
    const auto answer = Check<csi::v1::ControllerGetVolumeResponse>(
        &controller::Router::ControllerGetVolume,
        OfVolume<csi::v1::ControllerGetVolumeRequest>(id));
    if (!answer) return;
    RequireOf(answer->volume(), node, 1);
    Require(answer->volume().volume_id() == id, "the volume is the one that was asked for");
    Require(answer->status().volume_condition().message().size() <= kMaxMessageText &&
                answer->status().published_node_ids().empty(),
            "a status is a condition with a short text");
  }

  void Expand(const std::string& id) {
    auto request = OfVolume<csi::v1::ControllerExpandVolumeRequest>(id);
    request.mutable_capacity_range()->set_required_bytes(1 << 30);
    const auto answer = Check<csi::v1::ControllerExpandVolumeResponse>(
        &controller::Router::ControllerExpandVolume, request);
    Require(!answer || answer->capacity_bytes() >= 1 << 30, "an expanded volume is that large");
  }

  void Validate(const std::string& id) {
    auto request = OfVolume<csi::v1::ValidateVolumeCapabilitiesRequest>(id);
    request.add_volume_capabilities()->mutable_mount();
    const auto answer = Check<csi::v1::ValidateVolumeCapabilitiesResponse>(
        &controller::Router::ValidateVolumeCapabilities, request);
    Require(!answer || !answer->has_confirmed() ||
                (answer->confirmed().volume_capabilities_size() == 1 &&
                 answer->confirmed().volume_capabilities(0).SerializeAsString() ==
                     request.volume_capabilities(0).SerializeAsString()),
            "what was asked is confirmed, or nothing");
  }

  void Publish(const std::string& id, const std::string& node) {
    auto request = OfVolume<csi::v1::ControllerPublishVolumeRequest>(id);
    request.set_node_id(node);
    request.mutable_volume_capability()->mutable_mount();
    request.mutable_volume_capability()->mutable_access_mode()->set_mode(
        csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
    const auto answer = Check<csi::v1::ControllerPublishVolumeResponse>(
        &controller::Router::ControllerPublishVolume, request);
    Require(!answer || answer->publish_context().empty(), "a node gives no publish context");
  }

  // From the snapshot, if it is not "".
  void Create(const std::string& node, const std::string& snapshot) {
    csi::v1::CreateVolumeRequest request;
    request.set_name("pv");
    request.mutable_capacity_range()->set_required_bytes(1 << 20);
    auto& capability = *request.add_volume_capabilities();
    capability.mutable_mount();
    capability.mutable_access_mode()->set_mode(
        csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
    *request.mutable_accessibility_requirements()->add_requisite() =
        rpc::NodeTopology(kDriver, node);
    if (!snapshot.empty()) {
      request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(snapshot);
    }
    auto answer = Check<csi::v1::CreateVolumeResponse>(&controller::Router::CreateVolume, request);
    if (!answer) return;
    Require(answer->volume().content_source().snapshot().snapshot_id() == snapshot,
            "a volume has the content source that was asked for");
    answer->mutable_volume()->clear_content_source();
    RequireOf(answer->volume(), node, 1 << 20);
  }

  void MeasureAll() {
    for (const char* provisioning : {"thin", "thick"}) {
      csi::v1::GetCapacityRequest request;
      (*request.mutable_parameters())["provisioning"] = provisioning;
      csi::v1::GetCapacityResponse response;
      CheckStatus(router_.GetCapacity(nullptr, &request, &response));
      Require(response.available_capacity() >= 0 && response.maximum_volume_size().value() >= 0 &&
                  response.minimum_volume_size().value() >= 0,
              "a capacity is not negative");
    }
    (void)hub_.Missing();
  }

  // The answer of a call that was OK.
  template <typename Response, typename Request>
  std::optional<Response> Check(grpc::Status (controller::Router::*method)(grpc::ServerContext*,
                                                                           const Request*,
                                                                           Response*),
                                const Request& request) {
    grpc::ServerContext context;
    Response response;
    const grpc::Status status = (router_.*method)(&context, &request, &response);
    CheckStatus(status);
    return status.ok() ? std::optional(std::move(response)) : std::nullopt;
  }

  static void CheckStatus(const grpc::Status& status) {
    Require(status.error_code() >= grpc::OK && status.error_code() <= grpc::UNAUTHENTICATED,
            "a code is one of gRPC's");
    Require(status.error_message().find("unexpected failure") == std::string::npos,
            "no exception leaves a handler");
    Require(status.error_message().size() <= kMaxMessageText, "a message is short");
  }

  Anybody identity_;
  link::Hub hub_{kDriver, identity_};
  KeyLock locks_;
  rpc::CallRunner calls_;
  const pool::Pools no_pools_;  // of the controller's own
  controller::Service own_{{kDriver, "", true, no_pools_, State(), locks_, calls_}};
  controller::Router router_{{kDriver, true, hub_, no_pools_, own_, locks_, calls_}};
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  holdfast::StartLog(holdfast::LogLevel::kError);
  google::protobuf::SetLogHandler(nullptr);  // about text that is not UTF-8, each time
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  holdfast::fuzz::Controller controller;  // a new one: it remembers nodes
  controller.Try({data, size});
  return 0;
}
