// SPDX-License-Identifier: Apache-2.0
#include "controller/rpc_table.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "controller/snapshot_request.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

using google::protobuf::Message;

template <typename T>
const T& As(const Message& message) {
  return static_cast<const T&>(message);
}

template <typename T>
T& As(Message& message) {
  return static_cast<T&>(message);
}

template <typename Request, typename Response>
using Take = absl::Status (*)(const Request&, const Asked&, const Response&, Response&);

// A row: what the RPC is, and the functions of its types.
template <typename Request, typename Response>
Rpc Row(Rpc rpc, grpc::Status (Service::*run)(grpc::ServerContext*, const Request*, Response*),
        std::type_identity_t<absl::Status (*)(const Request&)> check = nullptr,
        std::type_identity_t<Take<Request, Response>> take = nullptr) {
  rpc.request = &Request::default_instance();
  rpc.response = &Response::default_instance();
  rpc.run = [run](Service& service, grpc::ServerContext* context, const Message& request,
                  Message& response) {
    return (service.*run)(context, &As<Request>(request), &As<Response>(response));
  };
  if (check != nullptr) {
    rpc.check = [check](const Message& request) { return check(As<Request>(request)); };
  }
  if (take != nullptr) {
    rpc.take = [take](const Message& request, const Asked& asked, const Message& answered,
                      Message& response) {
      return take(As<Request>(request), asked, As<Response>(answered), As<Response>(response));
    };
  }
  return rpc;
}

// Of a field of text; nothing if the message has none of that name.
std::optional<std::string> TextIn(const Message& message, const char* name) {
  const auto* const field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) return std::nullopt;
  return message.GetReflection()->GetString(message, field);
}

absl::Status CheckSnapshotRequest(const csi::v1::CreateSnapshotRequest& request) {
  return ParseSnapshotRequest(request).status();
}

template <typename Request>
absl::Status CheckSnapshotId(const Request& request) {
  return rpc::RequireId(request.snapshot_id(), "snapshot_id");
}

absl::Status CheckName(const csi::v1::CreateVolumeRequest& request) {
  return rpc::RequireName(request.name(), "name");
}

template <typename Request>
absl::Status CheckId(const Request& request) {
  return rpc::RequireId(request.volume_id(), "volume_id");
}

absl::Status CheckValidation(const csi::v1::ValidateVolumeCapabilitiesRequest& request) {
  RETURN_IF_ERROR(CheckId(request));
  if (!request.volume_capabilities().empty()) return absl::OkStatus();
  return InvalidArgument("volume_capabilities is missing");
}

absl::Status CheckExpansion(const csi::v1::ControllerExpandVolumeRequest& request) {
  RETURN_IF_ERROR(CheckId(request));
  if (!request.has_capacity_range()) return InvalidArgument("capacity_range is missing");
  const auto& range = request.capacity_range();
  return CapacityRange::Parse(range.required_bytes(), range.limit_bytes()).status();
}

std::vector<Rpc> MakeTable() {
  using By = AnsweredBy;
  constexpr auto kInfo = LogLevel::kInfo;
  constexpr auto kDebug = LogLevel::kDebug;
  // What of an answer to a creation is believed depends on the node: VolumeCreation::TakeAnswer.
  // Of lists: Router::AddNode and Router::AddSnapshots.
  return {
      Row({"CreateVolume", By::kChosenNode, Lock::kName, Codes::kOfCreation, true, kInfo},
          &Service::CreateVolume, CheckName),
      Row({"DeleteVolume", By::kOwner, Lock::kSubject, Codes::kOfVolume, true, kInfo},
          &Service::DeleteVolume, CheckId),
      Row({"ControllerExpandVolume", By::kOwner, Lock::kNone, Codes::kOfVolume, true, kInfo},
          &Service::ControllerExpandVolume, CheckExpansion, TakeExpansion),
      Row({"ControllerGetVolume", By::kOwner, Lock::kNone, Codes::kOfVolume, false, kDebug},
          &Service::ControllerGetVolume, CheckId, TakeDescription),
      Row({"ValidateVolumeCapabilities", By::kOwner, Lock::kNone, Codes::kOfVolume, false, kInfo},
          &Service::ValidateVolumeCapabilities, CheckValidation, TakeConfirmation),
      Row({"CreateSnapshot", By::kOwner, Lock::kSnapshotName, Codes::kOfCreation, true, kInfo},
          &Service::CreateSnapshot, CheckSnapshotRequest, TakeNewSnapshot),
      Row({"DeleteSnapshot", By::kOwner, Lock::kSubject, Codes::kOfVolume, true, kInfo},
          &Service::DeleteSnapshot, CheckSnapshotId),
      Row({"GetSnapshot", By::kOwner, Lock::kNone, Codes::kOfVolume, false, kDebug},
          &Service::GetSnapshot, CheckSnapshotId, TakeSnapshot),
      Row({"ListSnapshots", By::kEveryNode, Lock::kNone, Codes::kOfList, false, kDebug},
          &Service::ListSnapshots),
      Row({"ListVolumes", By::kEveryNode, Lock::kNone, Codes::kOfList, false, kDebug},
          &Service::ListVolumes),
      Row({"GetCapacity", By::kController, Lock::kNone, Codes::kOfList, false, kDebug},
          &Service::GetCapacity),
      Row({"ControllerGetCapabilities", By::kController, Lock::kNone, Codes::kOfList, false,
           kDebug},
          &Service::ControllerGetCapabilities),
      Row({"ControllerPublishVolume", By::kController, Lock::kNone, Codes::kOfVolume, false, kInfo},
          &Service::ControllerPublishVolume),
      Row({"ControllerUnpublishVolume", By::kController, Lock::kNone, Codes::kOfVolume, false,
           kInfo},
          &Service::ControllerUnpublishVolume),
  };
}

}  // namespace

std::span<const Rpc> Rpcs() {
  static const std::vector<Rpc> table = MakeTable();
  return table;
}

const Rpc* FindRpc(std::string_view method) {
  const auto found = std::ranges::find(Rpcs(), method, &Rpc::method);
  return found == Rpcs().end() ? nullptr : &*found;
}

const Rpc& RpcOf(const Message& request) {
  return *std::ranges::find_if(Rpcs(), [&](const Rpc& rpc) {
    return rpc.request->GetDescriptor() == request.GetDescriptor();
  });
}

std::string SubjectOf(const Message& request) {
  for (const char* const name : {"volume_id", "source_volume_id", "snapshot_id", "name"}) {
    const auto text = TextIn(request, name);
    if (text) return *text;
  }
  return "";
}

std::string KeyOf(Lock lock, const Message& request) {
  if (lock == Lock::kName) return NameKey(TextIn(request, "name").value_or(""));
  if (lock == Lock::kSnapshotName) return SnapshotNameKey(TextIn(request, "name").value_or(""));
  return SubjectOf(request);
}

}  // namespace holdfast::controller
