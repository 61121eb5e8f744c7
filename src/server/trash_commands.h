// SPDX-License-Identifier: Apache-2.0
// The commands about a node's trash as commands of the link: methods of holdfast.admin.v1.Admin.
// Each names one entry, and the node finds out for itself whether it has that.
#pragma once

#include <optional>
#include <string>

#include "proto/link.pb.h"
#include "rpc/call_runner.h"
#include "server/own_trash.h"

namespace holdfast::server {

inline constexpr char kRestoreTrash[] = "Admin.RestoreTrash";
inline constexpr char kPurgeTrash[] = "Admin.PurgeTrash";

// Thread-safe.
class TrashCommands final {
 public:
  // Both outlive it.
  TrashCommands(const OwnTrash& trash, rpc::CallRunner& calls) : trash_(trash), calls_(calls) {}

  // Nothing if the command is another one. INVALID_ARGUMENT in the result for a request that cannot
  // be parsed.
  [[nodiscard]] std::optional<link::v1::Result> CarryOut(const link::v1::Command& command) const;

  // Whether the room in the pools may be another after such a command.
  [[nodiscard]] static bool ChangesSpace(const std::string& method);

 private:
  const OwnTrash& trash_;
  rpc::CallRunner& calls_;
};

}  // namespace holdfast::server
