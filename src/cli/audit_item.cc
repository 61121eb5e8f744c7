// SPDX-License-Identifier: Apache-2.0
#include "cli/audit_item.h"

#include <absl/container/flat_hash_map.h>

namespace holdfast::cli {
namespace {

const absl::flat_hash_map<std::string_view, ItemField>& Fields() {
  constexpr auto kObject = JsonType::kObject;
  constexpr auto kArray = JsonType::kArray;
  static const absl::flat_hash_map<std::string_view, ItemField> fields = {
      {"", {kObject}},
      {"/kind", {}},
      {"/metadata", {kObject}},
      {"/metadata/continue", {}},
      {"/items", {kArray}},
      {"/items/*", {kObject}},
      {"/items/*/kind", {.text = &AuditItem::kind}},
      {"/items/*/apiVersion", {.text = &AuditItem::api_version}},
      {"/items/*/metadata", {kObject}},
      {"/items/*/metadata/name", {.text = &AuditItem::name}},
      {"/items/*/metadata/namespace", {.text = &AuditItem::name_space}},
      {"/items/*/metadata/deletionTimestamp", {.text = &AuditItem::deleted_at}},
      {"/items/*/spec", {kObject}},
      {"/items/*/spec/csi", {kObject}},
      {"/items/*/spec/csi/driver", {.text = &AuditItem::csi_driver}},
      {"/items/*/spec/csi/volumeHandle", {.text = &AuditItem::csi_handle}},
      {"/items/*/spec/capacity", {kObject}},
      {"/items/*/spec/capacity/storage", {.text = &AuditItem::capacity}},
      {"/items/*/spec/claimRef", {kObject}},
      {"/items/*/spec/claimRef/namespace", {.text = &AuditItem::claim_namespace}},
      {"/items/*/spec/claimRef/name", {.text = &AuditItem::claim_name}},
      {"/items/*/spec/nodeAffinity", {kObject}},
      {"/items/*/spec/nodeAffinity/required", {kObject}},
      {"/items/*/spec/nodeAffinity/required/nodeSelectorTerms", {kArray}},
      {"/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*", {kObject}},
      {"/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*/matchExpressions", {kArray}},
      {"/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*/matchExpressions/*", {kObject}},
      {"/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*/matchExpressions/*/key",
       {.text = &AuditItem::key}},
      {"/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*/matchExpressions/*/operator",
       {.text = &AuditItem::comparison}},
      {"/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*/matchExpressions/*/values",
       {kArray}},
      {"/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*/matchExpressions/*/values/*", {}},
      {"/items/*/spec/persistentVolumeReclaimPolicy", {.text = &AuditItem::reclaim_policy}},
      {"/items/*/spec/nodeName", {.text = &AuditItem::node}},
      {"/items/*/spec/volumes", {kArray}},
      {"/items/*/spec/volumes/*", {kObject}},
      {"/items/*/spec/volumes/*/name", {.text = &AuditItem::volume_name}},
      {"/items/*/spec/volumes/*/ephemeral", {kObject}},
      {"/items/*/spec/volumes/*/persistentVolumeClaim", {kObject}},
      {"/items/*/spec/volumes/*/persistentVolumeClaim/claimName",
       {.text = &AuditItem::volume_claim}},
      {"/items/*/spec/driver", {.text = &AuditItem::content_driver}},
      {"/items/*/spec/source", {kObject}},
      {"/items/*/spec/source/snapshotHandle", {.text = &AuditItem::given_handle}},
      {"/items/*/spec/volumeSnapshotRef", {kObject}},
      {"/items/*/spec/volumeSnapshotRef/namespace", {.text = &AuditItem::snapshot_namespace}},
      {"/items/*/spec/volumeSnapshotRef/name", {.text = &AuditItem::snapshot_name}},
      {"/items/*/status", {kObject}},
      {"/items/*/status/snapshotHandle", {.text = &AuditItem::made_handle}},
  };
  return fields;
}

}  // namespace

const ItemField* FieldAt(std::string_view place) {
  const auto field = Fields().find(place);
  return field == Fields().end() ? nullptr : &field->second;
}

bool IsPersistentVolume(const AuditItem& item) {
  return item.kind == "PersistentVolume" && (item.api_version == "v1" || item.api_version.empty());
}

bool IsSnapshotContent(const AuditItem& item) {
  return item.kind == "VolumeSnapshotContent" &&
         (item.api_version.starts_with("snapshot.storage.k8s.io/") || item.api_version.empty());
}

bool IsPod(const AuditItem& item) {
  return item.kind == "Pod" && (item.api_version == "v1" || item.api_version.empty());
}

}  // namespace holdfast::cli
