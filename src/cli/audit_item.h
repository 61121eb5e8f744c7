// SPDX-License-Identifier: Apache-2.0
// What is kept of an object in a list of Kubernetes objects while the list is read, and where it is
// in the document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/audit_objects.h"

namespace holdfast::cli {

enum class JsonType { kText, kObject, kArray };

// An object of the list, of any kind.
struct AuditItem {
  std::string kind;
  std::string api_version;
  std::string name;
  std::string deleted_at;
  std::string csi_driver;
  std::string csi_handle;
  std::string capacity;
  std::string claim_namespace;
  std::string claim_name;
  std::vector<std::vector<NodeRequirement>> node_terms;
  std::string key;  // of the expression that is being read
  std::string comparison;
  std::vector<std::string> values;
  std::string content_driver;
  std::string given_handle;
  std::string made_handle;
  std::string snapshot_namespace;
  std::string snapshot_name;
  std::string reclaim_policy;
  std::string name_space;
  std::string node;
  std::string volume_name;  // of the pod's volume that is being read
  std::string volume_claim;
  bool volume_is_ephemeral = false;
  std::vector<std::string> claims;
};

struct ItemField {
  JsonType type = JsonType::kText;
  std::string AuditItem::*text = nullptr;  // where it is kept, if it is
};

// The field at this place; nullptr if nothing is asked of it. A place is made of "/" and a key, "*"
// for an entry of an array, from the document down.
[[nodiscard]] const ItemField* FieldAt(std::string_view place);

inline constexpr std::string_view kItemPlace = "/items/*";
inline constexpr std::string_view kPodVolumePlace = "/items/*/spec/volumes/*";
inline constexpr std::string_view kEphemeralPlace = "/items/*/spec/volumes/*/ephemeral";
inline constexpr std::string_view kTermPlace =
    "/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*";
inline constexpr std::string_view kExpressionPlace =
    "/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*/matchExpressions/*";
inline constexpr std::string_view kValuePlace =
    "/items/*/spec/nodeAffinity/required/nodeSelectorTerms/*/matchExpressions/*/values/*";

[[nodiscard]] bool IsPersistentVolume(const AuditItem& item);
[[nodiscard]] bool IsSnapshotContent(const AuditItem& item);
[[nodiscard]] bool IsPod(const AuditItem& item);

}  // namespace holdfast::cli
