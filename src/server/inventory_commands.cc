// SPDX-License-Identifier: Apache-2.0
#include "server/inventory_commands.h"

#include "link/limits.h"

namespace holdfast::server {
namespace {

// CSI has methods of the same names.
constexpr char kPools[] = "Admin.ListPools";
constexpr char kVolumes[] = "Admin.ListVolumes";
constexpr char kSnapshots[] = "Admin.ListSnapshots";
constexpr char kLeftovers[] = "Admin.ListLeftovers";
constexpr char kTrash[] = "Admin.ListTrash";

// Room for the frame around the response.
constexpr std::size_t kMostAnswer = link::kMaxMessageBytes - 4096;

}  // namespace

std::string ListMethodOf(const admin::v1::ListPoolsResponse&) { return kPools; }
std::string ListMethodOf(const admin::v1::ListVolumesResponse&) { return kVolumes; }
std::string ListMethodOf(const admin::v1::ListSnapshotsResponse&) { return kSnapshots; }
std::string ListMethodOf(const admin::v1::ListLeftoversResponse&) { return kLeftovers; }
std::string ListMethodOf(const admin::v1::ListTrashResponse&) { return kTrash; }

template <typename Response>
std::optional<link::v1::Result> InventoryCommands::Answer(const link::v1::Command& command) const {
  link::v1::Result result;
  const grpc::Status status =
      calls_.Run(nullptr, {command.method(), "", LogLevel::kDebug}, [&]() -> absl::Status {
        admin::v1::ListRequest request;
        if (!request.ParseFromString(command.request())) {
          return InvalidArgument("the request of {} cannot be parsed", command.method());
        }
        Response response;
        RETURN_IF_ERROR(
            inventory_.Fill({.after = request.after(), .for_controller = true}, response));
        if (response.ByteSizeLong() > kMostAnswer) {
          return OutOfRange("a part of the list has {} bytes, more than the link carries",
                            response.ByteSizeLong());
        }
        result.set_response(response.SerializeAsString());
        return absl::OkStatus();
      });
  result.set_code(status.error_code());
  result.set_message(status.error_message());
  return result;
}

std::optional<link::v1::Result> InventoryCommands::CarryOut(
    const link::v1::Command& command) const {
  if (command.method() == kPools) return Answer<admin::v1::ListPoolsResponse>(command);
  if (command.method() == kVolumes) return Answer<admin::v1::ListVolumesResponse>(command);
  if (command.method() == kSnapshots) return Answer<admin::v1::ListSnapshotsResponse>(command);
  if (command.method() == kLeftovers) return Answer<admin::v1::ListLeftoversResponse>(command);
  if (command.method() == kTrash) return Answer<admin::v1::ListTrashResponse>(command);
  return std::nullopt;
}

}  // namespace holdfast::server
