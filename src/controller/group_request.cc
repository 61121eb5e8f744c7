// SPDX-License-Identifier: Apache-2.0
#include "controller/group_request.h"

#include <chrono>
#include <set>

#include "controller/parameters.h"
#include "controller/snapshot_request.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

constexpr char kField[] = "source_volume_ids";
constexpr std::chrono::seconds kGroupFreeze{5};
// A field of the class that Kubernetes' storage suite repeats among the parameters; it is the CO's.
constexpr char kDeletionPolicy[] = "deletionPolicy";

}  // namespace

absl::StatusOr<CutOptions> ParseGroupParameters(
    const std::map<std::string, std::string>& parameters) {
  CutOptions cut{.longest_freeze = kGroupFreeze};
  for (const auto& [key, value] : parameters) {
    if (key != "maxFreeze") {
      return InvalidArgument("unknown parameter '{}' of a group snapshot (known: maxFreeze)", key);
    }
    ASSIGN_OR_RETURN(cut.longest_freeze, ParseMaxFreeze(value));
  }
  return cut;
}

absl::StatusOr<GroupRequest> ParseGroupRequest(
    const csi::v1::CreateVolumeGroupSnapshotRequest& request) {
  RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  GroupRequest parsed{.name = request.name(), .sources = {}, .parameters = {}};
  for (const auto& [key, value] : request.parameters()) {
    if (!IsOfCo(key) && key != kDeletionPolicy) parsed.parameters.emplace(key, value);
  }
  RETURN_IF_ERROR(ParseGroupParameters(parsed.parameters).status());
  if (request.source_volume_ids().empty()) return InvalidArgument("{} is missing", kField);
  if (request.source_volume_ids_size() > kMostMembers) {
    return InvalidArgument("{} names {} volumes; a group snapshot can have at most {}", kField,
                           request.source_volume_ids_size(), kMostMembers);
  }
  std::set<std::string> seen;
  for (const std::string& text : request.source_volume_ids()) {
    RETURN_IF_ERROR(rpc::RequireId(text, kField));
    if (!seen.insert(text).second) return InvalidArgument("{} names '{}' twice", kField, text);
  }
  for (const std::string& text : seen) {
    const auto id = VolumeId::Parse(text);
    if (!id) return NotFound("there is no volume '{}'", text);
    parsed.sources.push_back(*id);
  }
  return parsed;
}

}  // namespace holdfast::controller
