// SPDX-License-Identifier: Apache-2.0
#include "controller/link_commands.h"

#include <algorithm>

#include "core/version.h"
#include "link/hub.h"

namespace holdfast::controller {
namespace {

// Without one a handler has no deadline: the caller's ends its waiting, not the work.
grpc::ServerContext* const kNoContext = nullptr;

grpc::Status Dispatch(Service& service, const link::v1::Command& command,
                      link::v1::Result& result) {
  using link::v1::Command;
  switch (command.request_case()) {
    case Command::kCreateVolume:
      return service.CreateVolume(kNoContext, &command.create_volume(),
                                  result.mutable_create_volume());
    case Command::kDeleteVolume: {
      csi::v1::DeleteVolumeResponse nothing;
      return service.DeleteVolume(kNoContext, &command.delete_volume(), &nothing);
    }
    case Command::kExpandVolume:
      return service.ControllerExpandVolume(kNoContext, &command.expand_volume(),
                                            result.mutable_expand_volume());
    case Command::kGetVolume:
      return service.ControllerGetVolume(kNoContext, &command.get_volume(),
                                         result.mutable_get_volume());
    case Command::kValidateVolumeCapabilities:
      return service.ValidateVolumeCapabilities(kNoContext, &command.validate_volume_capabilities(),
                                                result.mutable_validate_volume_capabilities());
    case Command::kListVolumes:
      return service.ListVolumes(kNoContext, &command.list_volumes(),
                                 result.mutable_list_volumes());
    case Command::REQUEST_NOT_SET:
      break;
  }
  return grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                      "the node does not know this command; is it older than the controller?");
}

struct Capacities {
  PoolCapacity thick;
  PoolCapacity thin;
};

absl::StatusOr<Capacities> Measure(pool::Pool& pool) {
  Capacities measured;
  ASSIGN_OR_RETURN(measured.thick, pool.GetCapacity(Provisioning::kThick));
  ASSIGN_OR_RETURN(measured.thin, pool.GetCapacity(Provisioning::kThin));
  return measured;
}

void SetRoom(link::v1::Room& room, const PoolCapacity& capacity) {
  room.set_available(capacity.available_bytes);
  room.set_maximum_volume(capacity.maximum_volume_bytes);
  room.set_minimum_volume(capacity.minimum_volume_bytes);
}

}  // namespace

link::v1::Result CarryOut(Service& service, const link::v1::Command& command) {
  link::v1::Result result;
  const grpc::Status status = Dispatch(service, command, result);
  if (!status.ok()) result.clear_response();
  result.set_code(status.error_code());
  result.set_message(status.error_message());
  return result;
}

link::v1::Pools MeasurePools(const pool::Pools& pools) {
  link::v1::Pools measured;
  // The default pool first, whatever its name.
  const auto first = pools.Find("");
  const auto add = [&](pool::Pool& pool) {
    if (pool.info().node.empty()) return;  // no node's own: the controller has it too
    link::v1::Pool& described = *measured.add_pools();
    described.set_name(pool.info().name);
    described.set_default_filesystem(pool.info().default_filesystem);
    const auto room = pools.questions().Put(pool, Measure);
    // Without an id the controller keeps what it knows of the pool's volumes, which cannot be
    // named.
    if (room.ok() || pool.List("", 1).ok()) described.set_id(pool.info().id);
    if (room.ok()) {
      SetRoom(*described.mutable_thick(), room->thick);
      SetRoom(*described.mutable_thin(), room->thin);
    } else {
      described.set_problem(MessageOf(room.status()));
    }
  };
  if (first.ok()) add(**first);
  for (pool::Pool* const pool : pools.all()) {
    if (!first.ok() || pool != *first) add(*pool);
  }
  return measured;
}

void NameVolumes(const pool::Pools& pools,
                 const std::function<bool(const link::v1::Volumes&)>& send) {
  for (pool::Pool* const pool : pools.all()) {
    if (pool->info().node.empty()) continue;
    for (std::string after;;) {
      // From memory, as all pools of a node: it fails only while the pool is not there.
      const auto volumes = pool->List(after, link::kMaxVolumesInPart);
      if (!volumes.ok() || volumes->empty()) break;
      link::v1::Volumes part;
      for (const Volume& volume : *volumes) {
        link::v1::Volume& named = *part.add_volumes();
        named.set_pool(pool->info().name);
        named.set_name(volume.name);
      }
      if (!send(part)) return;
      after = volumes->back().id.uuid;
    }
  }
}

std::size_t CountListable(const pool::Pools& pools) {
  return static_cast<std::size_t>(std::ranges::count_if(pools.all(), [](pool::Pool* const pool) {
    return !pool->info().node.empty() && pool->List("", 1).ok();
  }));
}

link::v1::Register DescribeNode(const std::string& driver_name, const std::string& node_id,
                                const pool::Pools& pools) {
  link::v1::Register description;
  description.set_protocol(link::kProtocol);
  description.set_driver(driver_name);
  description.set_node(node_id);
  description.set_version(kVersion);
  *description.mutable_pools() = MeasurePools(pools);
  return description;
}

}  // namespace holdfast::controller
