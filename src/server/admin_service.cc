// SPDX-License-Identifier: Apache-2.0
#include "server/admin_service.h"

#include "fs/mounted_volumes.h"

namespace holdfast::server {
namespace {

void Describe(const pool::Questions& questions, pool::Pool& pool, admin::v1::Pool& described) {
  const pool::PoolInfo& info = pool.info();
  described.set_name(info.name);
  described.set_kind(info.kind);
  described.set_location(info.location);
  described.set_node(info.node);
  described.set_default_filesystem(info.default_filesystem);
  const auto usage = questions.Put(pool, [](pool::Pool& one) { return one.GetUsage(); });
  if (!usage.ok()) {
    described.set_problem(MessageOf(usage.status()));
    return;
  }
  described.set_total_bytes(usage->total);
  described.set_free_bytes(usage->free);
  described.set_reserve_bytes(usage->reserve);
  described.set_thick_provisioned_bytes(usage->thick_provisioned);
  described.set_thin_provisioned_bytes(usage->thin_provisioned);
  described.set_thick_available_bytes(usage->thick_available);
  described.set_thin_available_bytes(usage->thin_available);
  described.set_volumes(static_cast<std::int64_t>(usage->volumes));
}

void DescribeUse(const state::StageRecord& record, admin::v1::Volume& described) {
  described.set_staging_path(record.staging_path);
  for (const auto& [target, publication] : record.publications) described.add_target_paths(target);
}

void Describe(const pool::Questions& questions, pool::Pool& pool, const Volume& volume,
              const VolumeCondition& condition, const state::StageStore& stages,
              admin::v1::Volume& described) {
  described.set_id(volume.id.ToString());
  described.set_name(volume.name);
  described.set_pool(volume.id.pool);
  described.set_capacity_bytes(volume.capacity_bytes);
  described.set_provisioning(std::string(ToString(volume.provisioning)));
  described.set_access_type(std::string(ToString(volume.access_type)));
  described.set_filesystem(volume.filesystem);
  described.set_state(std::string(ToString(volume.state)));
  described.set_created_at(volume.created_at);
  if (volume.source) described.set_source(volume.source->ToString());
  const auto device =
      questions.Put(pool, [id = volume.id](pool::Pool& one) { return one.FindDevice(id); });
  if (device.ok() && device->has_value()) {
    described.set_device((*device)->path);
    const auto record = stages.Find(described.id());
    if (record.ok()) DescribeUse(*record, described);
  }
  described.set_abnormal(condition.abnormal);
  described.set_condition(condition.message);
}

constexpr pool::SnapshotUse kUnknown{.occupied = -1, .shared = -1, .copied_to = 0};

void Describe(const pool::Questions& questions, pool::Pool& pool, const Volume& snapshot,
              admin::v1::Snapshot& described) {
  described.set_id(ToSnapshotId(snapshot.id));
  described.set_name(snapshot.name);
  described.set_pool(snapshot.id.pool);
  if (snapshot.source) described.set_source_volume_id(snapshot.source->ToString());
  described.set_size_bytes(snapshot.capacity_bytes);
  described.set_provisioning(std::string(ToString(snapshot.provisioning)));
  described.set_access_type(std::string(ToString(snapshot.access_type)));
  described.set_filesystem(snapshot.filesystem);
  described.set_ready_to_use(snapshot.state != VolumeState::kCopying);
  described.set_created_at(snapshot.created_at);
  const auto use =
      questions.Put(pool, [id = snapshot.id](pool::Pool& one) { return one.GetSnapshotUse(id); })
          .value_or(kUnknown);
  described.set_occupied_bytes(use.occupied);
  described.set_shared_bytes(use.shared);
  described.set_copied_bytes(described.ready_to_use() ? snapshot.capacity_bytes : use.copied_to);
}

}  // namespace

grpc::Status AdminService::ListPools(grpc::ServerContext* context,
                                     const admin::v1::ListPoolsRequest*,
                                     admin::v1::ListPoolsResponse* response) {
  return calls_.Run(context, {"ListPools", "", LogLevel::kDebug}, [&] {
    for (pool::Pool* const pool : pools_.all()) {
      Describe(pools_.questions(), *pool, *response->add_pools());
    }
    return absl::OkStatus();
  });
}

grpc::Status AdminService::ListVolumes(grpc::ServerContext* context,
                                       const admin::v1::ListVolumesRequest*,
                                       admin::v1::ListVolumesResponse* response) {
  return calls_.Run(context, {"ListVolumes (admin)", "", LogLevel::kDebug}, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<Volume> volumes, pools_.List("", 0));
    ASSIGN_OR_RETURN(auto conditions, pools_.Conditions(volumes));
    ASSIGN_OR_RETURN(const auto problems, fs::FindProblems(pools_.devices()));
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      const auto problem = problems.find(volumes[i].id.uuid);
      if (problem != problems.end()) conditions.at(i) = VolumeCondition{true, problem->second};
      ASSIGN_OR_RETURN(pool::Pool* const pool, pools_.Find(volumes[i].id.pool));
      Describe(pools_.questions(), *pool, volumes[i], conditions.at(i), stages_,
               *response->add_volumes());
    }
    return absl::OkStatus();
  });
}

grpc::Status AdminService::ListSnapshots(grpc::ServerContext* context,
                                         const admin::v1::ListSnapshotsRequest*,
                                         admin::v1::ListSnapshotsResponse* response) {
  return calls_.Run(
      context, {"ListSnapshots (admin)", "", LogLevel::kDebug}, [&]() -> absl::Status {
        ASSIGN_OR_RETURN(const std::vector<Volume> snapshots, pools_.ListSnapshots("", 0));
        for (const Volume& snapshot : snapshots) {
          ASSIGN_OR_RETURN(pool::Pool* const pool, pools_.Find(snapshot.id.pool));
          Describe(pools_.questions(), *pool, snapshot, *response->add_snapshots());
        }
        return absl::OkStatus();
      });
}

grpc::Status AdminService::ListLeftovers(grpc::ServerContext* context,
                                         const admin::v1::ListLeftoversRequest*,
                                         admin::v1::ListLeftoversResponse* response) {
  return calls_.Run(context, {"ListLeftovers", "", LogLevel::kDebug}, [&] {
    response->set_rounds(static_cast<std::int64_t>(reconciler_.rounds()));
    for (const Reconciler::OpenLeftover& open : reconciler_.Open()) {
      auto& described = *response->add_leftovers();
      described.set_kind(std::string(ToString(open.leftover.kind)));
      described.set_subject(open.leftover.subject);
      described.set_problem(open.problem);
      described.set_remedy(std::string(RemedyOf(open.leftover.kind)));
      described.set_since(open.since);
    }
    return absl::OkStatus();
  });
}

}  // namespace holdfast::server
