// SPDX-License-Identifier: Apache-2.0
// What is needed of PersistentVolumes, VolumeSnapshotContents and Pods, as kubectl prints them.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "core/status.h"

namespace holdfast::cli {

// One key of a node affinity that nodes must have with one of these values (operator In).
struct NodeRequirement {
  std::string key;
  std::vector<std::string> values;
};

struct PersistentVolume {
  std::string name{};
  std::string driver{};  // empty: not a CSI volume
  std::string handle{};
  std::string capacity{};  // a Kubernetes quantity
  std::string claim{};     // NAMESPACE/NAME; empty: none
  // A node has to meet all requirements of one of these terms; none: any node will do. Expressions
  // with other operators than In are left out.
  std::vector<std::vector<NodeRequirement>> node_terms{};
  bool is_retained = false;  // when its claim is deleted
  bool being_deleted = false;
};

struct SnapshotContent {
  std::string name{};
  std::string driver{};
  std::string handle{};    // empty: there is no snapshot yet
  std::string snapshot{};  // NAMESPACE/NAME of its VolumeSnapshot
  bool being_deleted = false;
};

struct Pod {
  std::string name{};                 // NAMESPACE/NAME
  std::string node{};                 // empty: not scheduled yet
  std::vector<std::string> claims{};  // NAMESPACE/NAME, those of ephemeral volumes too
};

struct KubernetesObjects {
  std::vector<PersistentVolume> volumes;
  std::vector<SnapshotContent> contents;
  std::vector<Pod> pods;
};

// Parses the JSON of `kubectl get pv -o json`, or of `kubectl get
// pv,volumesnapshotcontent,pods -A -o json`: a List, or a PersistentVolumeList as the API server
// has it. Objects of other kinds are left out. The document is read as it comes, and only this much
// of it is kept. INVALID_ARGUMENT, with one sentence, if it is not JSON, is cut off, is not a whole
// list of PersistentVolumes (one object, one page, objects of other kinds only), or has a field of
// another type than Kubernetes has.
[[nodiscard]] absl::StatusOr<KubernetesObjects> ParseKubernetesObjects(std::istream& input);

// The same of a file; "-" is standard input. Errors name it.
[[nodiscard]] absl::StatusOr<KubernetesObjects> ReadKubernetesObjects(const std::string& path);

}  // namespace holdfast::cli
