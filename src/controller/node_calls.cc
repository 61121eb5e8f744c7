// SPDX-License-Identifier: Apache-2.0
#include "controller/node_calls.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <memory>

#include "controller/link_commands.h"
#include "controller/rpc_table.h"
#include "core/log.h"
#include "core/message_text.h"
#include "core/volume.h"
#include "core/volume_id.h"
#include "link/frame.h"
#include "rpc/fields.h"
#include "rpc/topology.h"

namespace holdfast::controller {
namespace {

constexpr std::chrono::seconds kDefaultDeadline{60};

link::v1::Command CommandOf(const google::protobuf::Message& request) {
  const std::unique_ptr<google::protobuf::Message> bare(request.New());
  bare->CopyFrom(request);
  rpc::ClearSecrets(*bare);
  link::v1::Command command;
  command.set_method(std::string(RpcOf(request).method));
  command.set_request(bare->SerializeAsString());
  return command;
}

}  // namespace

link::Deadline DeadlineOf(const grpc::ServerContext* context) {
  link::Deadline::duration left = kDefaultDeadline;
  if (context != nullptr) {
    left = std::min<link::Deadline::duration>(
        context->deadline() - std::chrono::system_clock::now(), left);
  }
  return std::chrono::steady_clock::now() + left;
}

absl::StatusOr<std::string> NodeCalls::Send(const std::string& node, Codes codes,
                                            const link::v1::Command& command,
                                            link::Deadline deadline) {
  ASSIGN_OR_RETURN(link::v1::Result result, hub_.Call(node, command, deadline));
  RETURN_IF_ERROR(StatusOf(node, codes, result));
  return std::move(*result.mutable_response());
}

absl::StatusOr<std::string> NodeCalls::Ask(const std::string& node,
                                           const google::protobuf::Message& request,
                                           link::Deadline deadline) {
  return Send(node, RpcOf(request).codes, CommandOf(request), deadline);
}

absl::StatusOr<std::string> NodeCalls::AskToCreate(const std::string& node,
                                                   const csi::v1::CreateVolumeRequest& request,
                                                   const link::v1::Incoming& incoming,
                                                   link::Deadline deadline) {
  link::v1::Command command = CommandOf(request);
  *command.mutable_incoming() = incoming;
  return Send(node, RpcOf(request).codes, command, deadline);
}

absl::StatusOr<link::v1::Content> NodeCalls::DescribeContent(const VolumeId& snapshot,
                                                             link::Deadline deadline) {
  link::v1::DescribeContent request;
  request.set_snapshot(ToSnapshotId(snapshot));
  ASSIGN_OR_RETURN(const std::string answer,
                   AskFor(snapshot.node, Codes::kOfVolume, kDescribeContent, request, deadline));
  link::v1::Content content;
  RETURN_IF_ERROR(ParseAnswer(snapshot.node, answer, content));
  const absl::Status sound = ParseContent(content).status();
  if (!sound.ok()) return Refuse(snapshot.node, MessageOf(sound));
  return content;
}

absl::Status NodeCalls::SendContent(const link::TransferOrder& order, const std::string& ticket,
                                    link::Deadline deadline) {
  link::v1::SendContent request;
  request.set_snapshot(order.content);
  request.set_version(order.version);
  request.set_ticket(ticket);
  return AskFor(order.source, Codes::kOfVolume, kSendContent, request, deadline).status();
}

absl::Status NodeCalls::CopyContent(const VolumeId& snapshot, const std::string& version,
                                    const VolumeId& volume, link::Deadline deadline) {
  link::v1::CopyContent request;
  request.set_snapshot(ToSnapshotId(snapshot));
  request.set_version(version);
  request.set_volume(volume.ToString());
  return AskFor(snapshot.node, Codes::kOfVolume, kCopyContent, request, deadline).status();
}

absl::StatusOr<HeldContent> NodeCalls::HoldContent(const VolumeId& volume, const std::string& name,
                                                   link::Deadline deadline) {
  link::v1::HoldContent request;
  request.set_volume(volume.ToString());
  request.set_name(name);
  ASSIGN_OR_RETURN(const std::string answer,
                   AskFor(volume.node, Codes::kOfCreation, kHoldContent, request, deadline));
  link::v1::HeldContent message;
  RETURN_IF_ERROR(ParseAnswer(volume.node, answer, message));
  auto held = ParseHeldContent(message, volume);
  if (!held.ok()) return Refuse(volume.node, MessageOf(held.status()));
  return held;
}

absl::Status NodeCalls::ReleaseContent(const VolumeId& volume, const std::string& name,
                                       link::Deadline deadline) {
  link::v1::ReleaseContent request;
  request.set_volume(volume.ToString());
  request.set_name(name);
  return AskFor(volume.node, Codes::kOfVolume, kReleaseContent, request, deadline).status();
}

absl::StatusOr<std::string> NodeCalls::AskFor(const std::string& node, Codes codes,
                                              const std::string& method,
                                              const google::protobuf::Message& request,
                                              link::Deadline deadline) {
  link::v1::Command command;
  command.set_method(method);
  command.set_request(request.SerializeAsString());
  return Send(node, codes, command, deadline);
}

absl::StatusOr<std::string> NodeCalls::CallOwner(const std::string& subject,
                                                 const google::protobuf::Message& request,
                                                 link::Deadline deadline) {
  const std::optional<VolumeId> id = ParseSubject(subject);
  if (!id) return NotFound("there is no volume or snapshot '{}'", subject);
  if (id->node.empty()) {
    return Unavailable("'{}' belongs to pool '{}', which is not configured here", subject,
                       id->pool);
  }
  return Ask(id->node, request, deadline);
}

namespace {

using absl::StatusCode;
using google::protobuf::util::MessageDifferencer;

// Of texts that go to a caller, many of them in one answer.
constexpr std::size_t kMaxText = 400;
// google.protobuf.Timestamp ends with the year 9999.
constexpr std::int64_t kLastSecond = 253'402'300'799;
constexpr std::int32_t kMostNanoseconds = 999'999'999;

std::string Short(std::string_view text) {
  std::size_t end = std::min(text.size(), kMaxText);
  // Not within a character of UTF-8.
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return MessageText(text.substr(0, end));
}

// A code has consequences at the caller: RESOURCE_EXHAUSTED sends a pod to another node, NOT_FOUND
// means deleted. So each call has only its own (csi.proto, "Error Scheme").
bool IsCodeOf(Codes codes, StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kAborted:
    case StatusCode::kOutOfRange:
    case StatusCode::kInternal:
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
      return true;
    case StatusCode::kAlreadyExists:
    case StatusCode::kResourceExhausted:
      return codes == Codes::kOfCreation;
    case StatusCode::kNotFound:
      return codes == Codes::kOfVolume || codes == Codes::kOfCreation;
    default:
      return false;
  }
}

absl::Status CheckSize(Bytes answered, const VolumeId& id, const Size& size) {
  if (answered >= std::max<Bytes>(size.least, 1) && (size.most == 0 || answered <= size.most)) {
    return absl::OkStatus();
  }
  return Refuse(id.node, fmt::format("volume '{}' has {} bytes, {} to {} were asked for",
                                     id.ToString(), answered, size.least, size.most));
}

// Size, time and readiness are the node's to say.
absl::StatusOr<csi::v1::Snapshot> SnapshotAs(const csi::v1::Snapshot& answered, const VolumeId& id,
                                             const VolumeId& source) {
  RETURN_IF_ERROR(CheckSize(answered.size_bytes(), id, Size{}));
  const auto& time = answered.creation_time();
  if (time.seconds() <= 0 || time.seconds() > kLastSecond || time.nanos() < 0 ||
      time.nanos() > kMostNanoseconds) {
    return Refuse(id.node, fmt::format("snapshot '{}' has no time of creation", ToSnapshotId(id)));
  }
  csi::v1::Snapshot snapshot;
  snapshot.set_snapshot_id(ToSnapshotId(id));
  snapshot.set_source_volume_id(source.ToString());
  snapshot.set_size_bytes(answered.size_bytes());
  *snapshot.mutable_creation_time() = time;
  snapshot.set_ready_to_use(answered.ready_to_use());
  return snapshot;
}

}  // namespace

std::optional<VolumeId> ParseSubject(std::string_view text) {
  const auto volume = VolumeId::Parse(text);
  return volume ? volume : ParseSnapshotId(text);
}

absl::Status Refuse(const std::string& node, const std::string& why) {
  absl::Status refused = Unavailable(
      "the answer of node '{}' is refused: {}; is its software the controller's, or is the node "
      "compromised?",
      node, why);
  LogWarning("{}", MessageOf(refused));
  return refused;
}

absl::Status StatusOf(const std::string& node, Codes codes, const link::v1::Result& result) {
  if (result.code() == 0) return absl::OkStatus();
  const auto code = static_cast<StatusCode>(result.code());
  const std::string text = MessageText(result.message());
  return MakeStatus(
      IsCodeOf(codes, code) ? code : StatusCode::kInternal,
      fmt::format("node '{}': {}", node, text.empty() ? "it does not say why" : text));
}

absl::Status ParseAnswer(const std::string& node, const std::string& bytes,
                         google::protobuf::Message& answered) {
  const absl::Status parsed = link::ParseWithin(bytes, answered);
  return parsed.ok() ? absl::OkStatus() : Refuse(node, MessageOf(parsed));
}

absl::StatusOr<csi::v1::Volume> TakeVolume(const csi::v1::Volume& answered, const VolumeId& id,
                                           const Size& size, const std::string& driver_name) {
  if (answered.volume_id() != id.ToString()) {
    return Refuse(id.node, fmt::format("it is about '{}', not about volume '{}'",
                                       Short(answered.volume_id()), id.ToString()));
  }
  RETURN_IF_ERROR(CheckSize(answered.capacity_bytes(), id, size));
  csi::v1::Volume volume;
  volume.set_volume_id(id.ToString());
  volume.set_capacity_bytes(answered.capacity_bytes());
  *volume.add_accessible_topology() = rpc::NodeTopology(driver_name, id.node);
  return volume;
}

absl::Status TakeExpansion(const csi::v1::ControllerExpandVolumeRequest& request,
                           const Asked& asked,
                           const csi::v1::ControllerExpandVolumeResponse& answered,
                           csi::v1::ControllerExpandVolumeResponse& response) {
  const auto& given = request.capacity_range();
  ASSIGN_OR_RETURN(const CapacityRange range,
                   CapacityRange::Parse(given.required_bytes(), given.limit_bytes()));
  RETURN_IF_ERROR(CheckSize(answered.capacity_bytes(), asked.id,
                            {.least = range.required, .most = range.limit}));
  response.set_capacity_bytes(answered.capacity_bytes());
  response.set_node_expansion_required(answered.node_expansion_required());
  return absl::OkStatus();
}

absl::Status TakeDescription(const csi::v1::ControllerGetVolumeRequest&, const Asked& asked,
                             const csi::v1::ControllerGetVolumeResponse& answered,
                             csi::v1::ControllerGetVolumeResponse& response) {
  ASSIGN_OR_RETURN(*response.mutable_volume(),
                   TakeVolume(answered.volume(), asked.id, Size{}, asked.driver_name));
  // A status is required, the condition in it too where VOLUME_CONDITION is advertised.
  *response.mutable_status()->mutable_volume_condition() =
      TakeCondition(answered.status().volume_condition());
  return absl::OkStatus();
}

absl::Status TakeConfirmation(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
                              const Asked& asked,
                              const csi::v1::ValidateVolumeCapabilitiesResponse& answered,
                              csi::v1::ValidateVolumeCapabilitiesResponse& response) {
  if (!answered.has_confirmed() && answered.message().empty()) {
    return Refuse(asked.id.node, "it neither confirms nor objects");
  }
  response.set_message(Short(answered.message()));
  if (!answered.has_confirmed()) return absl::OkStatus();
  csi::v1::ValidateVolumeCapabilitiesResponse::Confirmed wanted;
  *wanted.mutable_volume_context() = request.volume_context();
  *wanted.mutable_volume_capabilities() = request.volume_capabilities();
  *wanted.mutable_parameters() = request.parameters();
  csi::v1::ValidateVolumeCapabilitiesResponse::Confirmed told = answered.confirmed();
  *told.mutable_volume_context() = request.volume_context();
  *told.mutable_parameters() = request.parameters();
  if (!MessageDifferencer::Equals(wanted, told)) {
    return Refuse(asked.id.node, "it confirms other capabilities than those that were asked for");
  }
  *response.mutable_confirmed() = std::move(wanted);
  return absl::OkStatus();
}

absl::Status TakeNewSnapshot(const csi::v1::CreateSnapshotRequest&, const Asked& asked,
                             const csi::v1::CreateSnapshotResponse& answered,
                             csi::v1::CreateSnapshotResponse& response) {
  const csi::v1::Snapshot& snapshot = answered.snapshot();
  const auto id = ParseSnapshotId(snapshot.snapshot_id());
  if (!id || id->pool != asked.id.pool || id->node != asked.id.node) {
    return Refuse(asked.id.node, fmt::format("'{}' is no snapshot in the pool of volume '{}'",
                                             Short(snapshot.snapshot_id()), asked.id.ToString()));
  }
  ASSIGN_OR_RETURN(*response.mutable_snapshot(), SnapshotAs(snapshot, *id, asked.id));
  return absl::OkStatus();
}

absl::Status TakeSnapshot(const csi::v1::GetSnapshotRequest&, const Asked& asked,
                          const csi::v1::GetSnapshotResponse& answered,
                          csi::v1::GetSnapshotResponse& response) {
  ASSIGN_OR_RETURN(*response.mutable_snapshot(),
                   TakeListedSnapshot(asked.id.node, answered.snapshot()));
  if (response.snapshot().snapshot_id() == ToSnapshotId(asked.id)) return absl::OkStatus();
  return Refuse(asked.id.node,
                fmt::format("it is about '{}', not about snapshot '{}'",
                            response.snapshot().snapshot_id(), ToSnapshotId(asked.id)));
}

absl::StatusOr<csi::v1::Snapshot> TakeListedSnapshot(const std::string& node,
                                                     const csi::v1::Snapshot& answered) {
  const auto id = ParseSnapshotId(answered.snapshot_id());
  const auto source = VolumeId::Parse(answered.source_volume_id());
  if (!id || id->node != node || !source || source->node != node || source->pool != id->pool) {
    return Refuse(
        node, fmt::format("'{}' of '{}' is no snapshot in its pools", Short(answered.snapshot_id()),
                          Short(answered.source_volume_id())));
  }
  return SnapshotAs(answered, *id, *source);
}

csi::v1::VolumeCondition TakeCondition(const csi::v1::VolumeCondition& answered) {
  csi::v1::VolumeCondition condition;
  condition.set_abnormal(answered.abnormal());
  condition.set_message(Short(answered.message()));
  return condition;
}

}  // namespace holdfast::controller
