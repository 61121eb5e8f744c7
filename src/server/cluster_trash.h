// SPDX-License-Identifier: Apache-2.0
// The commands about the trash of the nodes of a controller: the node of the entry carries them
// out.
#pragma once

#include <string>

#include "core/trash_id.h"
#include "link/hub.h"
#include "proto/admin.pb.h"

namespace holdfast::server {

// Thread-safe. Besides what the node answers: UNAVAILABLE if it is not connected, or answers what
// cannot be; DEADLINE_EXCEEDED. A repetition finds out what was done.
class ClusterTrash final {
 public:
  // `hub` outlives it.
  ClusterTrash(link::Hub& hub, std::string driver_name)
      : hub_(hub), driver_name_(std::move(driver_name)) {}

  [[nodiscard]] absl::Status Restore(const TrashId& id, link::Deadline deadline,
                                     admin::v1::RestoreTrashResponse& response) const;
  [[nodiscard]] absl::Status Purge(const TrashId& id, link::Deadline deadline) const;

 private:
  link::Hub& hub_;
  const std::string driver_name_;
};

}  // namespace holdfast::server
