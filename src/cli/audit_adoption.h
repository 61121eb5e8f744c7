// SPDX-License-Identifier: Apache-2.0
// PersistentVolumes for volumes that have none, for a cluster that has forgotten them. Nothing that
// is not known of a volume is made up: one whose claim is not certain is left out, because a
// PersistentVolume without a claim would be given to any.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/audit_findings.h"

namespace holdfast::cli {

struct AdoptionChoices {
  std::string storage_class{};                  // empty: none
  std::string access_mode = "ReadWriteOnce";    // no volume records its own
  std::map<std::string, std::string> claims{};  // NAMESPACE/NAME by volume id, instead of recorded
};

// Parses "VOLUME_ID=NAMESPACE/NAME" of each. INVALID_ARGUMENT for another form, and for a volume
// that comes twice.
[[nodiscard]] absl::StatusOr<std::map<std::string, std::string>> ParseClaims(
    const std::vector<std::string>& texts);

struct Adoption {
  std::string list;                 // a List of PersistentVolumes, as JSON
  std::vector<std::string> left_out;  // a sentence for each volume, and what to do
};

// Of `audit.without_pv`. INVALID_ARGUMENT if a chosen claim is for another volume, or the instance
// has no Controller service, which says where volumes can be reached.
[[nodiscard]] absl::StatusOr<Adoption> Adopt(const Audit& audit, const KubernetesObjects& objects,
                                             const AdoptionChoices& choices, Owners& owners);

}  // namespace holdfast::cli
