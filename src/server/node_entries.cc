// SPDX-License-Identifier: Apache-2.0
#include "server/node_entries.h"

#include <algorithm>
#include <functional>

#include "core/kubernetes_name.h"
#include "core/message_text.h"
#include "core/trash_id.h"
#include "core/volume.h"
#include "core/volume_id.h"
#include "server/list_limits.h"

namespace holdfast::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The least that a number can be: -1 is "not known".
constexpr std::int64_t kUnknown = -1;

void CleanRepeated(Message& entry, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *entry.GetReflection();
  while (reflection.FieldSize(entry, &field) > kMostPaths) reflection.RemoveLast(&entry, &field);
  for (int i = 0; i < reflection.FieldSize(entry, &field); ++i) {
    reflection.SetRepeatedString(&entry, &field, i,
                                 MessageText(reflection.GetRepeatedString(entry, &field, i)));
  }
}

// Of an entry of proto/admin.proto, whose fields are texts, numbers and lists of texts.
void Clean(Message& entry) {
  const google::protobuf::Reflection& reflection = *entry.GetReflection();
  entry.DiscardUnknownFields();
  for (int i = 0; i < entry.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *entry.GetDescriptor()->field(i);
    if (field.is_repeated()) {
      CleanRepeated(entry, field);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      reflection.SetString(&entry, &field, MessageText(reflection.GetString(entry, &field)));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      reflection.SetInt64(&entry, &field, std::max(reflection.GetInt64(entry, &field), kUnknown));
    }
  }
}

// The names of Kubernetes objects are Holdfast's only if they can be some.
void KeepName(std::string& name) {
  if (!IsKubernetesName(name)) name.clear();
}

bool HasPool(const link::NodeView& node, const std::string& name) {
  return std::ranges::any_of(node.pools->pools(),
                             [&](const link::v1::Pool& pool) { return pool.name() == name; });
}

absl::Status RequireOf(const link::NodeView& node, const std::optional<VolumeId>& id,
                       const std::string& text) {
  if (id && id->node == node.name && HasPool(node, id->pool)) return absl::OkStatus();
  return InvalidArgument("'{}' is not of one of its pools", MessageText(text));
}

template <typename Response>
void TakeUnreachable(const link::NodeView& node, Response& answered) {
  while (answered.unreachable_size() > link::kMaxPoolsOfNode) {
    answered.mutable_unreachable()->RemoveLast();
  }
  for (admin::v1::Unreachable& missing : *answered.mutable_unreachable()) {
    Clean(missing);
    missing.set_node(node.name);
  }
}

}  // namespace

absl::Status TakeFrom(const link::NodeView& node, admin::v1::ListPoolsResponse& answered) {
  for (admin::v1::Pool& pool : *answered.mutable_pools()) {
    if (!HasPool(node, pool.name())) {
      return InvalidArgument("'{}' is not one of its pools", MessageText(pool.name()));
    }
    Clean(pool);
    pool.set_node(node.name);
  }
  TakeUnreachable(node, answered);
  return absl::OkStatus();
}

absl::Status TakeFrom(const link::NodeView& node, admin::v1::ListVolumesResponse& answered) {
  for (admin::v1::Volume& volume : *answered.mutable_volumes()) {
    const auto id = VolumeId::Parse(volume.id());
    RETURN_IF_ERROR(RequireOf(node, id, volume.id()));
    auto& pods = *volume.mutable_pods();
    pods.erase(std::ranges::remove_if(pods, std::not_fn(IsNamespacedName)).begin(), pods.end());
    KeepName(*volume.mutable_kubernetes_namespace());
    KeepName(*volume.mutable_claim());
    KeepName(*volume.mutable_persistent_volume());
    Clean(volume);
    volume.set_node(node.name);
    volume.set_pool(id->pool);
  }
  TakeUnreachable(node, answered);
  return absl::OkStatus();
}

absl::Status TakeFrom(const link::NodeView& node, admin::v1::ListSnapshotsResponse& answered) {
  for (admin::v1::Snapshot& snapshot : *answered.mutable_snapshots()) {
    const auto id = ParseSnapshotId(snapshot.id());
    RETURN_IF_ERROR(RequireOf(node, id, snapshot.id()));
    KeepName(*snapshot.mutable_kubernetes_namespace());
    KeepName(*snapshot.mutable_volume_snapshot());
    KeepName(*snapshot.mutable_volume_snapshot_content());
    Clean(snapshot);
    snapshot.set_node(node.name);
    snapshot.set_pool(id->pool);
  }
  TakeUnreachable(node, answered);
  return absl::OkStatus();
}

absl::Status TakeFrom(const link::NodeView& node, admin::v1::ListLeftoversResponse& answered) {
  for (admin::v1::Leftover& leftover : *answered.mutable_leftovers()) {
    Clean(leftover);
    leftover.set_node(node.name);
  }
  answered.clear_rounds();
  TakeUnreachable(node, answered);
  return absl::OkStatus();
}

absl::Status TakeFrom(const link::NodeView& node, admin::v1::TrashEntry& answered) {
  const auto id = TrashId::Parse(answered.id());
  const bool own = id && id->node == node.name && HasPool(node, id->pool);
  if (!own) {
    return InvalidArgument("'{}' is not in the trash of one of its pools",
                           MessageText(answered.id()));
  }
  ASSIGN_OR_RETURN(const VolumeRole role, ParseVolumeRole(answered.kind()));
  KeepName(*answered.mutable_kubernetes_namespace());
  KeepName(*answered.mutable_kubernetes_name());
  KeepName(*answered.mutable_kubernetes_content());
  Clean(answered);
  answered.set_volume_id(ContentSource{role, id->place()}.ToString());
  answered.set_node(node.name);
  answered.set_pool(id->pool);
  return absl::OkStatus();
}

absl::Status TakeFrom(const link::NodeView& node, admin::v1::ListTrashResponse& answered) {
  for (admin::v1::TrashEntry& entry : *answered.mutable_trash()) {
    RETURN_IF_ERROR(TakeFrom(node, entry));
  }
  TakeUnreachable(node, answered);
  return absl::OkStatus();
}

void Describe(const link::NodeView& node, link::Hub& hub, admin::v1::Node& described) {
  described.set_name(node.name);
  described.set_state("connected");
  described.set_version(node.version);
  described.set_pools(node.pools->pools_size());
  described.set_volumes(static_cast<std::int64_t>(hub.names().Count(node.name)));
  described.set_snapshots(static_cast<std::int64_t>(hub.snapshot_names().Count(node.name)));
  Bytes thick = 0;
  Bytes thin = 0;
  for (const link::v1::Pool& pool : node.pools->pools()) {
    thick += pool.thick().available_capacity();
    thin += pool.thin().available_capacity();
    if (!pool.problem().empty()) {
      described.set_problem(fmt::format("pool '{}': {}", pool.name(), pool.problem()));
    }
  }
  described.set_thick_available_bytes(thick);
  described.set_thin_available_bytes(thin);
}

}  // namespace holdfast::server
