// SPDX-License-Identifier: Apache-2.0
// What a controller takes of a node's lists: a node speaks of itself only, in text that a terminal
// can be shown.
#pragma once

#include <string>

#include "core/status.h"
#include "link/hub.h"
#include "proto/admin.pb.h"

namespace holdfast::server {

// Each makes the entries those of the node: other ids, pools and names than the node can have are
// INVALID_ARGUMENT, and the whole answer is to be refused. Texts are cleaned and cut, names that no
// Kubernetes object has are left out, and so are more than kMostPaths paths of one volume.
[[nodiscard]] absl::Status TakeFrom(const link::NodeView& node,
                                    admin::v1::ListPoolsResponse& answered);
[[nodiscard]] absl::Status TakeFrom(const link::NodeView& node,
                                    admin::v1::ListVolumesResponse& answered);
[[nodiscard]] absl::Status TakeFrom(const link::NodeView& node,
                                    admin::v1::ListSnapshotsResponse& answered);
[[nodiscard]] absl::Status TakeFrom(const link::NodeView& node,
                                    admin::v1::ListLeftoversResponse& answered);
[[nodiscard]] absl::Status TakeFrom(const link::NodeView& node,
                                    admin::v1::ListTrashResponse& answered);
// One entry. The place that it names is one of the node's, and follows from its id.
[[nodiscard]] absl::Status TakeFrom(const link::NodeView& node, admin::v1::TrashEntry& answered);

// What is known of a connected node without asking it.
void Describe(const link::NodeView& node, link::Hub& hub, admin::v1::Node& described);

}  // namespace holdfast::server
