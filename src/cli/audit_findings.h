// SPDX-License-Identifier: Apache-2.0
// Compares what Kubernetes knows with what Holdfast has.
#pragma once

#include <absl/time/time.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/audit_inventory.h"
#include "cli/audit_objects.h"
#include "core/bytes.h"

namespace holdfast::cli {

// A volume or snapshot may be younger than its object, which its sidecar makes when the call has
// returned, and than the list of objects.
inline constexpr absl::Duration kTimeForObject = absl::Minutes(5);

enum class Verdict {
  kFinding,
  kUnknown,  // what it is about could not be asked
  kNote,     // will pass by itself, or is meant to be so
};

struct AuditEntry {
  Verdict verdict = Verdict::kFinding;
  std::string_view kind;     // "volume-without-pv"
  std::string subject{};     // the PersistentVolume's name, the volume's id, ...
  std::string id{};          // of the volume or snapshot
  std::string claim{};       // NAMESPACE/NAME of the claim or VolumeSnapshot
  std::string node{};        // that has the bytes
  Bytes size = -1;           // -1: not known
  std::string created_at{};  // RFC 3339
  std::string problem{};
};

struct Audit {
  std::vector<AuditEntry> entries;  // findings first, notes last
  // Findings of kind volume-without-pv; of the inventory.
  std::vector<const admin::v1::Volume*> without_pv;

  std::string driver;
  std::set<std::string> nodes;         // that were asked
  std::size_t persistent_volumes = 0;  // of this driver
  std::size_t contents = 0;            // likewise
  std::size_t volumes = 0;
  std::size_t snapshots = 0;
  std::size_t of_other_nodes = 0;  // PersistentVolumes and contents that a node cannot judge
  bool snapshots_judged = false;

  [[nodiscard]] std::size_t Count(Verdict verdict) const;
};

// `inventory` outlives the result. What seems to be missing is reported as missing only if its
// owner says so, too. Snapshots are judged if `with_snapshots` or if there is a content.
[[nodiscard]] Audit Compare(const Inventory& inventory, const KubernetesObjects& objects,
                            bool with_snapshots, absl::Time now, Owners& owners);

// How long ago that was; nothing if it is not RFC 3339.
[[nodiscard]] std::optional<absl::Duration> AgeOf(const std::string& rfc3339, absl::Time now);

}  // namespace holdfast::cli
