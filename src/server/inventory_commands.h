// SPDX-License-Identifier: Apache-2.0
// The lists of a node as commands of the link: the methods of holdfast.admin.v1.Admin, one part of
// a list at a time.
#pragma once

#include <optional>
#include <string>

#include "proto/admin.pb.h"
#include "proto/link.pb.h"
#include "rpc/call_runner.h"
#include "server/own_inventory.h"

namespace holdfast::server {

// The method of the link whose response that is; its request is a ListRequest.
[[nodiscard]] std::string ListMethodOf(const admin::v1::ListPoolsResponse&);
[[nodiscard]] std::string ListMethodOf(const admin::v1::ListVolumesResponse&);
[[nodiscard]] std::string ListMethodOf(const admin::v1::ListSnapshotsResponse&);
[[nodiscard]] std::string ListMethodOf(const admin::v1::ListLeftoversResponse&);
[[nodiscard]] std::string ListMethodOf(const admin::v1::ListTrashResponse&);

// Thread-safe.
class InventoryCommands final {
 public:
  // Both outlive it.
  InventoryCommands(const OwnInventory& inventory, rpc::CallRunner& calls)
      : inventory_(inventory), calls_(calls) {}

  // Nothing if the command is another one. INVALID_ARGUMENT in the result for a request that cannot
  // be parsed; OUT_OF_RANGE for a part that is larger than a message of the link.
  [[nodiscard]] std::optional<link::v1::Result> CarryOut(const link::v1::Command& command) const;

 private:
  template <typename Response>
  std::optional<link::v1::Result> Answer(const link::v1::Command& command) const;

  const OwnInventory& inventory_;
  rpc::CallRunner& calls_;
};

}  // namespace holdfast::server
