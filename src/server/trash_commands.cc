// SPDX-License-Identifier: Apache-2.0
#include "server/trash_commands.h"

namespace holdfast::server {

bool TrashCommands::ChangesSpace(const std::string& method) {
  return method == kRestoreTrash || method == kPurgeTrash;
}

std::optional<link::v1::Result> TrashCommands::CarryOut(const link::v1::Command& command) const {
  if (!ChangesSpace(command.method())) return std::nullopt;
  link::v1::Result result;
  admin::v1::TrashRequest request;
  const bool parsed = request.ParseFromString(command.request());
  const auto id = EntryIn(request);
  const std::string pool = id.ok() ? rpc::PoolKey(id->pool, id->node) : "";
  const grpc::Status status = calls_.Run(
      nullptr, {command.method(), request.id(), LogLevel::kInfo, pool}, [&]() -> absl::Status {
        if (!parsed) return InvalidArgument("the request of {} cannot be parsed", command.method());
        RETURN_IF_ERROR(id.status());
        if (command.method() == kPurgeTrash) return trash_.Purge(*id);
        admin::v1::RestoreTrashResponse response;
        RETURN_IF_ERROR(trash_.Restore(*id, response));
        result.set_response(response.SerializeAsString());
        return absl::OkStatus();
      });
  result.set_code(status.error_code());
  result.set_message(status.error_message());
  return result;
}

}  // namespace holdfast::server
