// SPDX-License-Identifier: Apache-2.0
// An inventory of two nodes and what Kubernetes has of it, for tests of the audit.
#pragma once

#include <map>
#include <string>

#include "cli/audit_findings.h"

namespace holdfast::cli {

inline const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
inline constexpr char kNodeKey[] = "topology.csi.holdfast.dev/node";

inline std::string TextOf(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

// A volume of 1 GiB that is 30 days old, made for claim shop/data-NUMBER.
inline admin::v1::Volume VolumeOn(const std::string& node, int number) {
  admin::v1::Volume volume;
  volume.set_id(fmt::format("default:{}:0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d{:04}", node, number));
  volume.set_name(fmt::format("pvc-{}", number));
  volume.set_pool("default");
  volume.set_node(node);
  volume.set_capacity_bytes(kGiB);
  volume.set_access_type("mount");
  volume.set_filesystem("ext4");
  volume.set_state("formatted");
  volume.set_created_at(TextOf(kNow - absl::Hours(30 * 24)));
  volume.set_kubernetes_namespace("shop");
  volume.set_claim(fmt::format("data-{}", number));
  volume.set_persistent_volume(volume.name());
  return volume;
}

// What its owner says of it.
inline csi::v1::Volume DescriptionOf(const std::string& id, Bytes size) {
  csi::v1::Volume described;
  described.set_volume_id(id);
  described.set_capacity_bytes(size);
  const auto place = VolumeId::Parse(id);
  if (place && !place->node.empty()) {
    (*described.add_accessible_topology()->mutable_segments())[kNodeKey] = place->node;
  }
  return described;
}

class SaidOwners final : public Owners {
 public:
  [[nodiscard]] absl::StatusOr<csi::v1::Volume> GetVolume(const std::string& id) override {
    if (!may_be_asked) return Internal("was asked");
    if (!has_controller) return MakeStatus(absl::StatusCode::kUnimplemented, "no such service");
    const auto said = volumes.find(id);
    if (said == volumes.end()) return NotFound("there is no volume '{}'", id);
    return said->second;
  }
  [[nodiscard]] absl::Status GetSnapshot(const std::string& id) override {
    return NotFound("there is no snapshot '{}'", id);
  }

  bool may_be_asked = true;
  bool has_controller = true;
  std::map<std::string, absl::StatusOr<csi::v1::Volume>> volumes;  // others do not exist
};

struct AuditScene {
  AuditScene() {
    inventory.driver = "csi.holdfast.dev";
    inventory.connected = {"n1", "n2"};
    for (const char* const node : {"n1", "", "n2"}) {
      auto& pool = *inventory.pools.add_pools();
      pool.set_name("default");
      pool.set_node(node);
    }
  }

  admin::v1::Volume& AddVolume(const std::string& node, int number) {
    return *inventory.volumes.mutable_volumes()->Add() = VolumeOn(node, number);
  }

  // 30 days old.
  admin::v1::Snapshot& AddSnapshot(const std::string& node, int number) {
    auto& snapshot = *inventory.snapshots.add_snapshots();
    snapshot.set_id("s:" + VolumeOn(node, number).id());
    snapshot.set_node(node);
    snapshot.set_created_at(TextOf(kNow - absl::Hours(30 * 24)));
    return snapshot;
  }

  void AddUnreachable(const std::string& node, const std::string& pool) {
    auto& missing = inventory.unreachable.emplace_back();
    missing.set_node(node);
    missing.set_pool(pool);
    missing.set_problem("it is away");
  }

  void AddLeftover(const std::string& kind, const std::string& subject, const std::string& node) {
    auto& leftover = *inventory.leftovers.add_leftovers();
    leftover.set_kind(kind);
    leftover.set_subject(subject);
    leftover.set_node(node);
    leftover.set_problem("in the way");
  }

  [[nodiscard]] static PersistentVolume PersistentVolumeOf(const admin::v1::Volume& volume) {
    return {.name = volume.name(),
            .driver = "csi.holdfast.dev",
            .handle = volume.id(),
            .capacity = "1Gi",
            .claim = volume.kubernetes_namespace() + "/" + volume.claim(),
            .node_terms = {{{kNodeKey, {volume.node()}}}}};
  }

  [[nodiscard]] Audit Compare(bool with_snapshots = false) {
    return cli::Compare(inventory, objects, with_snapshots, kNow, owners);
  }

  Inventory inventory;
  KubernetesObjects objects;
  SaidOwners owners;
};

}  // namespace holdfast::cli
