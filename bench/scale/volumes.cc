// SPDX-License-Identifier: Apache-2.0
#include "scale/volumes.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "scale/names.h"

namespace bench {
namespace {

using holdfast::link::v1::Command;
namespace v1 = holdfast::link::v1;

constexpr std::int64_t kSmallestVolume = std::int64_t{1} << 20;
constexpr std::int64_t kStepBeside = 4096;
constexpr int kVolumesInPart = 256;  // the maximum of the link
constexpr std::int64_t kMostBeside = std::int64_t{1} << 20;

void SetRoom(std::int64_t available, csi::v1::GetCapacityResponse& room) {
  room.set_available_capacity(available);
  room.mutable_maximum_volume_size()->set_value(available / kSmallestVolume * kSmallestVolume);
  room.mutable_minimum_volume_size()->set_value(kSmallestVolume);
}

template <typename Request, typename Response>
v1::Result Answer(const Command& command,
                  const std::function<int(const Request&, Response&)>& respond) {
  Request request;
  Response response;
  v1::Result result;
  if (!request.ParseFromString(command.request())) {
    result.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
    return result;
  }
  result.set_code(respond(request, response));
  if (result.code() == 0) result.set_response(response.SerializeAsString());
  return result;
}

std::string PoolId(const std::string& node) {
  return holdfast::UuidOfName("5ca1ab1e-0001-4000-8000-000000000000", node).value();
}

}  // namespace

Volumes::Volumes(std::string node, int count) : node_(std::move(node)), pool_id_(PoolId(node_)) {
  for (int number = 0; number < count; ++number) {
    const std::string name = VolumeName(node_, number);
    volumes_.emplace(IdForName(name), Volume{name, kVolumeBytes});
    used_ += kVolumeBytes;
  }
}

std::string Volumes::IdForName(const std::string& name) const {
  return holdfast::VolumeId{kPool, node_, holdfast::UuidOfName(pool_id_, name).value()}.ToString();
}

v1::Register Volumes::Describe() const {
  const std::lock_guard lock(mutex_);
  v1::Register description;
  description.set_protocol(3);
  description.set_driver(kDriver);
  description.set_node(node_);
  description.set_version("simulated");
  *description.mutable_pools() = MeasureLocked();
  return description;
}

std::vector<v1::Volumes> Volumes::Name() const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::Volumes> parts(1);
  for (const auto& [id, volume] : volumes_) {
    if (parts.back().volumes_size() == kVolumesInPart) parts.emplace_back();
    v1::Volume& named = *parts.back().add_volumes();
    named.set_pool(kPool);
    named.set_name(volume.name);
  }
  parts.back().set_last(true);
  return parts;
}

v1::Pools Volumes::Measure() const {
  const std::lock_guard lock(mutex_);
  return MeasureLocked();
}

v1::Pools Volumes::MeasureLocked() const {
  v1::Pools pools;
  v1::Pool& pool = *pools.add_pools();
  pool.set_id(pool_id_);
  pool.set_name(kPool);
  pool.set_default_filesystem("ext4");
  SetRoom(kPoolBytes - used_ - beside_, *pool.mutable_thick());
  SetRoom(kPoolBytes - used_ - beside_, *pool.mutable_thin());
  return pools;
}

void Volumes::WriteBeside() {
  const std::lock_guard lock(mutex_);
  beside_ = (beside_ + kStepBeside) % kMostBeside;
}

v1::Result Volumes::Execute(const Command& command) {
  const std::lock_guard lock(mutex_);
  v1::Result result = Dispatch(command);
  if (result.code() != 0) {
    result.set_message("the simulated node has no such volume, or does not know the command");
  }
  return result;
}

v1::Result Volumes::Dispatch(const Command& command) {
  const std::string& method = command.method();
  const auto answer =
      [&]<typename Request, typename Response>(int (Volumes::*respond)(const Request&, Response&)) {
        return Answer<Request, Response>(command, [&](const Request& request, Response& response) {
          return (this->*respond)(request, response);
        });
      };
  if (method == "CreateVolume") return answer(&Volumes::Create);
  if (method == "DeleteVolume") return answer(&Volumes::Delete);
  if (method == "ControllerExpandVolume") return answer(&Volumes::Expand);
  if (method == "ControllerGetVolume") return answer(&Volumes::Get);
  if (method == "ValidateVolumeCapabilities") return answer(&Volumes::Validate);
  if (method == "ListVolumes") return answer(&Volumes::List);
  if (method == "Admin.ListVolumes") return answer(&Volumes::Show);
  if (method == "Admin.ListPools") return answer(&Volumes::ShowPools);
  if (method == "Admin.ListSnapshots") return answer(&Volumes::ShowSnapshots);
  if (method == "Admin.ListLeftovers") return answer(&Volumes::ShowLeftovers);
  if (method == "Admin.ListTrash") return answer(&Volumes::ShowTrash);
  v1::Result unknown;
  unknown.set_code(static_cast<int>(absl::StatusCode::kUnimplemented));
  return unknown;
}

void Volumes::Fill(const std::string& id, const Volume& volume, csi::v1::Volume& described) const {
  described.set_volume_id(id);
  described.set_capacity_bytes(volume.bytes);
  (*described.add_accessible_topology()->mutable_segments())[kTopologyKey] = node_;
}

int Volumes::Create(const csi::v1::CreateVolumeRequest& request,
                    csi::v1::CreateVolumeResponse& response) {
  const std::int64_t bytes = std::max(kSmallestVolume, request.capacity_range().required_bytes());
  const std::string id = IdForName(request.name());
  const auto [volume, is_new] = volumes_.emplace(id, Volume{request.name(), bytes});
  if (is_new) used_ += bytes;
  Fill(id, volume->second, *response.mutable_volume());
  return 0;
}

int Volumes::Delete(const csi::v1::DeleteVolumeRequest& request, csi::v1::DeleteVolumeResponse&) {
  const auto volume = volumes_.find(request.volume_id());
  if (volume == volumes_.end()) return 0;
  used_ -= volume->second.bytes;
  volumes_.erase(volume);
  return 0;
}

int Volumes::Expand(const csi::v1::ControllerExpandVolumeRequest& request,
                    csi::v1::ControllerExpandVolumeResponse& response) {
  const auto volume = volumes_.find(request.volume_id());
  if (volume == volumes_.end()) return static_cast<int>(absl::StatusCode::kNotFound);
  const std::int64_t grown =
      std::max(volume->second.bytes, request.capacity_range().required_bytes());
  used_ += grown - volume->second.bytes;
  volume->second.bytes = grown;
  response.set_capacity_bytes(grown);
  response.set_node_expansion_required(true);
  return 0;
}

int Volumes::Get(const csi::v1::ControllerGetVolumeRequest& request,
                 csi::v1::ControllerGetVolumeResponse& response) {
  const auto volume = volumes_.find(request.volume_id());
  if (volume == volumes_.end()) return static_cast<int>(absl::StatusCode::kNotFound);
  Fill(volume->first, volume->second, *response.mutable_volume());
  response.mutable_status()->mutable_volume_condition()->set_message("simulated");
  return 0;
}

int Volumes::Validate(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
                      csi::v1::ValidateVolumeCapabilitiesResponse& response) {
  if (!volumes_.contains(request.volume_id())) {
    return static_cast<int>(absl::StatusCode::kNotFound);
  }
  *response.mutable_confirmed()->mutable_volume_capabilities() = request.volume_capabilities();
  return 0;
}

int Volumes::List(const csi::v1::ListVolumesRequest& request,
                  csi::v1::ListVolumesResponse& response) {
  for (auto volume = volumes_.upper_bound(request.starting_token()); volume != volumes_.end();
       ++volume) {
    if (request.max_entries() != 0 && response.entries_size() == request.max_entries()) {
      response.set_next_token(std::prev(volume)->first);
      break;
    }
    Fill(volume->first, volume->second, *response.add_entries()->mutable_volume());
  }
  return 0;
}

// As a real node describes volumes that pods use.
int Volumes::Show(const holdfast::admin::v1::ListRequest& request,
                  holdfast::admin::v1::ListVolumesResponse& response) {
  constexpr int kMost = 512;
  for (auto volume = volumes_.upper_bound(request.after());
       volume != volumes_.end() && response.volumes_size() < kMost; ++volume) {
    auto& shown = *response.add_volumes();
    shown.set_id(volume->first);
    shown.set_name(volume->second.name);
    shown.set_pool(kPool);
    shown.set_node(node_);
    shown.set_capacity_bytes(volume->second.bytes);
    shown.set_allocated_bytes(volume->second.bytes);
    shown.set_provisioning("thick");
    shown.set_access_type("mount");
    shown.set_filesystem("ext4");
    shown.set_state("formatted");
    shown.set_created_at("2026-01-31T12:00:00Z");
    shown.set_device("/dev/loop0");
    shown.set_staging_path("/var/lib/kubelet/plugins/kubernetes.io/csi/" + volume->second.name);
    shown.add_target_paths("/var/lib/kubelet/pods/" + volume->second.name);
    shown.set_condition("the storage is intact");
    shown.set_kubernetes_namespace("shop");
    shown.set_claim("data-" + volume->second.name);
    shown.set_persistent_volume(volume->second.name);
    shown.add_pods("shop/web-" + volume->second.name);
    if (response.volumes_size() == kMost && std::next(volume) != volumes_.end()) {
      response.set_next(volume->first);
    }
  }
  return 0;
}

int Volumes::ShowPools(const holdfast::admin::v1::ListRequest&,
                       holdfast::admin::v1::ListPoolsResponse& response) {
  auto& shown = *response.add_pools();
  shown.set_name(kPool);
  shown.set_node(node_);
  shown.set_total_bytes(kPoolBytes);
  return 0;
}

// It has none of these.
int Volumes::ShowSnapshots(const holdfast::admin::v1::ListRequest&,
                           holdfast::admin::v1::ListSnapshotsResponse&) {
  return 0;
}

int Volumes::ShowLeftovers(const holdfast::admin::v1::ListRequest&,
                           holdfast::admin::v1::ListLeftoversResponse&) {
  return 0;
}

int Volumes::ShowTrash(const holdfast::admin::v1::ListRequest&,
                       holdfast::admin::v1::ListTrashResponse&) {
  return 0;
}

}  // namespace bench
