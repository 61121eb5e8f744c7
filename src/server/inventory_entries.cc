// SPDX-License-Identifier: Apache-2.0
#include "server/inventory_entries.h"

#include <algorithm>

#include "core/volume.h"
#include "os/device_statistics.h"

namespace holdfast::server {

void Describe(const pool::PoolInfo& info, const absl::StatusOr<pool::PoolUsage>& usage,
              admin::v1::Pool& described) {
  described.set_id(info.id);
  described.set_name(info.name);
  described.set_kind(info.kind);
  described.set_location(info.location);
  described.set_node(info.node);
  described.set_default_filesystem(info.default_filesystem);
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
  described.set_trash(static_cast<std::int64_t>(usage->trash.entries));
  described.set_trash_bytes(usage->trash.allocated);
  const pool::SnapshotCounts& count = usage->snapshots;
  described.set_snapshots(
      static_cast<std::int64_t>(count.copying + count.shared + count.settling + count.own));
}

void Describe(const Volume& volume, Bytes copied_to, admin::v1::Volume& described) {
  described.set_id(volume.id.ToString());
  described.set_name(volume.name);
  described.set_pool(volume.id.pool);
  described.set_node(volume.id.node);
  described.set_capacity_bytes(volume.capacity_bytes);
  described.set_provisioning(std::string(ToString(volume.provisioning)));
  described.set_access_type(std::string(ToString(volume.access_type)));
  described.set_filesystem(volume.filesystem);
  described.set_state(std::string(ToString(volume.state)));
  described.set_created_at(volume.created_at);
  if (volume.source) described.set_source(volume.source->ToString());
  described.set_copied_bytes(copied_to);
  described.set_allocated_bytes(-1);
  if (!volume.requested_by) return;
  described.set_kubernetes_namespace(volume.requested_by->name_space);
  described.set_claim(volume.requested_by->name);
  described.set_persistent_volume(volume.requested_by->content);
}

void DescribeCondition(const VolumeCondition& condition, admin::v1::Volume& described) {
  described.set_abnormal(condition.abnormal);
  described.set_condition(condition.message);
  described.set_allocated_bytes(condition.allocated);
}

void DescribeUse(const os::BlockDevice& device, const absl::StatusOr<state::StageRecord>& record,
                 admin::v1::Volume& described) {
  described.set_device(device.path);
  if (const auto counted = os::ReadDeviceStatistics(device.number); counted.ok()) {
    described.set_reads(counted->reads);
    described.set_writes(counted->writes);
    described.set_read_bytes(counted->read_bytes);
    described.set_written_bytes(counted->written_bytes);
  }
  if (!record.ok()) return;
  described.set_staging_path(record->staging_path);
  for (const auto& [target, publication] : record->publications) {
    described.add_target_paths(target);
    if (!publication.pod.empty()) described.add_pods(publication.pod);
  }
}

void Describe(const Volume& snapshot, const std::optional<pool::SnapshotUse>& use,
              admin::v1::Snapshot& described) {
  described.set_id(ToSnapshotId(snapshot.id));
  described.set_name(snapshot.name);
  described.set_pool(snapshot.id.pool);
  described.set_node(snapshot.id.node);
  if (snapshot.source) described.set_source_volume_id(snapshot.source->ToString());
  described.set_size_bytes(snapshot.capacity_bytes);
  described.set_provisioning(std::string(ToString(snapshot.provisioning)));
  described.set_access_type(std::string(ToString(snapshot.access_type)));
  described.set_filesystem(snapshot.filesystem);
  described.set_ready_to_use(snapshot.state != VolumeState::kCopying);
  described.set_created_at(snapshot.created_at);
  described.set_held(snapshot.held());
  described.set_occupied_bytes(use ? use->occupied : -1);
  described.set_shared_bytes(use ? use->shared : -1);
  const Bytes copied = use ? use->copied_to : 0;
  described.set_copied_bytes(described.ready_to_use() ? snapshot.capacity_bytes : copied);
  if (!snapshot.requested_by) return;
  described.set_kubernetes_namespace(snapshot.requested_by->name_space);
  described.set_volume_snapshot(snapshot.requested_by->name);
  described.set_volume_snapshot_content(snapshot.requested_by->content);
}

void Describe(const pool::TrashEntry& entry, admin::v1::TrashEntry& described) {
  const Volume& volume = entry.volume;
  const ContentSource itself{volume.role, volume.id};
  described.set_id(entry.id.ToString());
  described.set_kind(std::string(ToString(volume.role)));
  described.set_volume_id(itself.ToString());
  described.set_name(volume.name);
  described.set_pool(volume.id.pool);
  described.set_node(volume.id.node);
  described.set_capacity_bytes(volume.capacity_bytes);
  described.set_allocated_bytes(entry.allocated);
  described.set_provisioning(std::string(ToString(volume.provisioning)));
  described.set_access_type(std::string(ToString(volume.access_type)));
  described.set_filesystem(volume.filesystem);
  described.set_created_at(volume.created_at);
  described.set_deleted_at(entry.deleted_at);
  described.set_keep_seconds(entry.keep.count());
  described.set_remaining_seconds(std::max<std::int64_t>(0, (entry.keep - entry.kept).count()));
  if (volume.source) described.set_source(volume.source->ToString());
  if (!volume.requested_by) return;
  described.set_kubernetes_namespace(volume.requested_by->name_space);
  described.set_kubernetes_name(volume.requested_by->name);
  described.set_kubernetes_content(volume.requested_by->content);
}

void Describe(const Reconciler::OpenLeftover& open, admin::v1::Leftover& described) {
  described.set_kind(std::string(ToString(open.leftover.kind)));
  described.set_subject(open.leftover.subject);
  described.set_problem(open.problem);
  described.set_remedy(std::string(RemedyOf(open.leftover.kind)));
  described.set_since(open.since);
}

}  // namespace holdfast::server
