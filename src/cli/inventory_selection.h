// SPDX-License-Identifier: Apache-2.0
// Which entries of a list are shown, and in which order.
#pragma once

#include <string>

#include "proto/admin.pb.h"

namespace holdfast::cli {

// Empty: any.
struct Selection {
  std::string node;
  std::string pool;
  std::string name_space;  // of Kubernetes
  bool abnormal = false;   // only what has a problem
};

// Leaves the entries that are selected, by node, pool, namespace and name. A leftover of no pool is
// shown only if no pool is selected.
void Select(const Selection& selection, admin::v1::ListPoolsResponse& list);
void Select(const Selection& selection, admin::v1::ListVolumesResponse& list);
void Select(const Selection& selection, admin::v1::ListSnapshotsResponse& list);
void Select(const Selection& selection, admin::v1::ListNodesResponse& list);
void Select(const Selection& selection, admin::v1::ListLeftoversResponse& list);
void Select(const Selection& selection, admin::v1::ListTrashResponse& list);

}  // namespace holdfast::cli
