// SPDX-License-Identifier: Apache-2.0
// The deletion of volumes that an administrator names, after an audit. Nothing is deleted because
// an object is absent: the audit only lists what may be named.
#pragma once

#include <absl/time/time.h>

#include <string>
#include <vector>

#include "cli/audit_findings.h"

namespace holdfast::cli {

// A younger volume may be one that a call is making, or whose PersistentVolume is not there yet.
inline constexpr absl::Duration kLeastAgeToDelete = absl::Hours(1);

// The ids of volumes without a PersistentVolume that are old enough, one in a line, each after a
// comment that says what it is.
[[nodiscard]] std::string DeleteList(const Audit& audit, absl::Time now);

// OK if each id is in that list, and comes once. Otherwise INVALID_ARGUMENT or FAILED_PRECONDITION
// for the first that is not, which says why.
[[nodiscard]] absl::Status CheckDeletion(const Audit& audit, const Inventory& inventory,
                                         const KubernetesObjects& objects,
                                         const std::vector<std::string>& ids, absl::Time now);

}  // namespace holdfast::cli
