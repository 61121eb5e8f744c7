// SPDX-License-Identifier: Apache-2.0
#include "controller/link_commands.h"

#include <algorithm>
#include <memory>

#include "controller/group_messages.h"
#include "controller/rpc_table.h"
#include "core/message_text.h"
#include "core/version.h"
#include "link/hub.h"
#include "link/pool_checks.h"

namespace holdfast::controller {
namespace {

// Without one a handler has no deadline: the caller's ends its waiting, not the work.
grpc::ServerContext* const kNoContext = nullptr;
// Of an unknown method's name, in a message.
constexpr std::size_t kMaxMethod = 100;

grpc::Status CannotParse(const link::v1::Command& command) {
  return {grpc::StatusCode::INVALID_ARGUMENT,
          fmt::format("the request of {} cannot be parsed", command.method())};
}

grpc::Status CreateFrom(Service& service, const link::v1::Command& command, std::string& answer) {
  csi::v1::CreateVolumeRequest request;
  csi::v1::CreateVolumeResponse response;
  if (!request.ParseFromString(command.request())) return CannotParse(command);
  grpc::Status status = service.CreateVolumeFrom(command.incoming(), request, response);
  if (status.ok()) answer = response.SerializeAsString();
  return status;
}

grpc::Status Describe(Service& service, const link::v1::Command& command, std::string& answer) {
  link::v1::DescribeContent request;
  link::v1::Content response;
  if (!request.ParseFromString(command.request())) return CannotParse(command);
  grpc::Status status = service.DescribeContent(request, response);
  if (status.ok()) answer = response.SerializeAsString();
  return status;
}

grpc::Status Send(Service& service, const link::v1::Command& command) {
  link::v1::SendContent request;
  if (!request.ParseFromString(command.request())) return CannotParse(command);
  return service.SendContent(request);
}

grpc::Status Copy(Service& service, const link::v1::Command& command) {
  link::v1::CopyContent request;
  if (!request.ParseFromString(command.request())) return CannotParse(command);
  return service.CopyContent(request);
}

grpc::Status Hold(Service& service, const link::v1::Command& command, std::string& answer) {
  link::v1::HoldContent request;
  link::v1::HeldContent response;
  if (!request.ParseFromString(command.request())) return CannotParse(command);
  grpc::Status status = service.HoldContent(request, response);
  if (status.ok()) answer = response.SerializeAsString();
  return status;
}

grpc::Status Find(Service& service, const link::v1::Command& command, std::string& answer) {
  link::v1::FindRanges request;
  link::v1::Ranges response;
  if (!request.ParseFromString(command.request())) return CannotParse(command);
  grpc::Status status = service.FindRanges(request, response);
  if (status.ok()) answer = response.SerializeAsString();
  return status;
}

grpc::Status Release(Service& service, const link::v1::Command& command) {
  link::v1::ReleaseContent request;
  if (!request.ParseFromString(command.request())) return CannotParse(command);
  return service.ReleaseContent(request);
}

grpc::Status Dispatch(Service& service, const link::v1::Command& command, std::string& answer) {
  if (command.method() == kDescribeContent) return Describe(service, command, answer);
  if (command.method() == kSendContent) return Send(service, command);
  if (command.method() == kCopyContent) return Copy(service, command);
  if (command.method() == kHoldContent) return Hold(service, command, answer);
  if (command.method() == kReleaseContent) return Release(service, command);
  if (IsGroupMethod(command.method())) return service.CarryOutGroup(command, answer);
  if (command.method() == kFindRanges) return Find(service, command, answer);
  const Rpc* const rpc = FindRpc(command.method());
  if (rpc == nullptr || rpc->answered_by == AnsweredBy::kController) {
    return {grpc::StatusCode::UNIMPLEMENTED,
            fmt::format("nodes of this version do not carry out '{}'; is the node's software older "
                        "than the controller's?",
                        MessageText(command.method().substr(0, kMaxMethod)))};
  }
  if (command.method() == "CreateVolume" && command.has_incoming()) {
    return CreateFrom(service, command, answer);
  }
  const std::unique_ptr<google::protobuf::Message> request(rpc->request->New());
  const std::unique_ptr<google::protobuf::Message> response(rpc->response->New());
  if (!request->ParseFromString(command.request())) return CannotParse(command);
  grpc::Status status = rpc->run(service, kNoContext, *request, *response);
  if (status.ok()) answer = response->SerializeAsString();
  return status;
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

void SetRoom(csi::v1::GetCapacityResponse& room, const PoolCapacity& capacity) {
  room.set_available_capacity(capacity.available_bytes);
  room.mutable_maximum_volume_size()->set_value(capacity.maximum_volume_bytes);
  room.mutable_minimum_volume_size()->set_value(capacity.minimum_volume_bytes);
}

// Those that no pool decides which is this node's alone; a node has few.
void AddUndecided(const pool::Pools& pools, link::v1::Pools& described) {
  for (pool::Pool* const pool : pools.all()) {
    for (const Volume& snapshot : pool->Undecided()) {
      const std::string& decides = snapshot.group->members.front();
      const auto place = ParseSnapshotId(decides);
      if (!place) continue;
      const auto located = pools.Locate(place->ToString());
      if (located.ok() && !located->pool->info().node.empty()) continue;
      if (described.undecided_size() == link::kMaxUndecidedOfNode) return;
      link::v1::Undecided& undecided = *described.add_undecided();
      undecided.set_group(snapshot.group->id);
      undecided.set_member(ToSnapshotId(snapshot.id));
      undecided.set_decides(decides);
    }
  }
}

// Sends all that `list` returns of the pool; false if `send` wants no more. From memory, as all
// pools of a node: listing fails only while the pool is not there.
template <typename List, typename AddTo>
bool NameAll(pool::Pool& pool, List list, AddTo add,
             const std::function<bool(const link::v1::Volumes&)>& send) {
  for (std::string after;;) {
    const absl::StatusOr<std::vector<Volume>> listed = (pool.*list)(after, link::kMaxVolumesInPart);
    if (!listed.ok() || listed->empty()) return true;
    link::v1::Volumes part;
    for (const Volume& volume : *listed) {
      if (volume.held()) continue;  // has the name of another volume
      link::v1::Volume& named = *(part.*add)();
      named.set_pool(pool.info().name);
      named.set_name(volume.name);
    }
    if (!send(part)) return false;
    after = listed->back().id.uuid;
  }
}

}  // namespace

link::v1::Result Execute(Service& service, const link::v1::Command& command) {
  link::v1::Result result;
  const grpc::Status status = Dispatch(service, command, *result.mutable_response());
  result.set_code(status.error_code());
  result.set_message(status.error_message());
  return result;
}

bool ChangesSpace(const std::string& method) {
  if (method == kHoldContent || method == kReleaseContent) return true;
  const Rpc* const rpc = FindRpc(method);
  return IsGroupMethod(method) || (rpc != nullptr && rpc->changes_space);
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
  AddUndecided(pools, measured);
  return measured;
}

void NameVolumes(const pool::Pools& pools,
                 const std::function<bool(const link::v1::Volumes&)>& send) {
  for (pool::Pool* const pool : pools.all()) {
    if (pool->info().node.empty()) continue;
    if (!NameAll(*pool, &pool::Pool::List, &link::v1::Volumes::add_volumes, send)) return;
    if (!NameAll(*pool, &pool::Pool::ListSnapshots, &link::v1::Volumes::add_snapshots, send))
      return;
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
