// SPDX-License-Identifier: Apache-2.0
// A node's part in group snapshots, as the controller asks for it over the link.
#include <algorithm>

#include "controller/group_messages.h"
#include "controller/service.h"

namespace holdfast::controller {
namespace {

template <typename Message>
absl::StatusOr<Message> Parse(const link::v1::Command& command) {
  Message message;
  if (message.ParseFromString(command.request())) return message;
  return InvalidArgument("the request of {} cannot be parsed", command.method());
}

absl::Status TakeStep(LocalGroups& groups, const link::v1::Command& command, std::string& answer) {
  ASSIGN_OR_RETURN(const auto message, Parse<link::v1::GroupPart>(command));
  ASSIGN_OR_RETURN(const GroupPart part, ParseGroupPart(message));
  if (command.method() == kCutGroup) return groups.Cut(part);
  if (command.method() == kSealGroup) return groups.Seal(part);
  ASSIGN_OR_RETURN(const auto unheld, groups.Hold(part));
  const auto is_unheld = [&](const VolumeId& volume) {
    return std::ranges::find(unheld, volume, &GroupSite::Unheld::volume) != unheld.end();
  };
  link::v1::Unheld response;
  for (const VolumeId& volume : part.sources) {
    if (is_unheld(volume)) response.add_volumes(volume.ToString());
  }
  for (const HeldVolume& held : part.held) {
    if (!is_unheld(held.volume)) response.add_held(held.volume.ToString());
  }
  answer = response.SerializeAsString();
  return absl::OkStatus();
}

absl::Status EndGroup(LocalGroups& groups, const link::v1::Command& command, std::string& answer) {
  ASSIGN_OR_RETURN(const auto message, Parse<link::v1::GroupEnd>(command));
  ASSIGN_OR_RETURN(const auto members, ParseSnapshotIds(message.members()));
  ASSIGN_OR_RETURN(const auto there, groups.End(message.group(), members, message.keep()));
  link::v1::GroupMembers response;
  response.set_group(message.group());
  for (const VolumeId& id : there) response.add_members(ToSnapshotId(id));
  answer = response.SerializeAsString();
  return absl::OkStatus();
}

absl::Status DeleteGroup(LocalGroups& groups, const link::v1::Command& command) {
  ASSIGN_OR_RETURN(const auto message, Parse<link::v1::GroupMembers>(command));
  ASSIGN_OR_RETURN(const auto members, ParseSnapshotIds(message.members()));
  return groups.Delete(message.group(), members);
}

absl::Status FindGroup(LocalGroups& groups, const link::v1::Command& command, std::string& answer) {
  ASSIGN_OR_RETURN(const auto message, Parse<link::v1::GroupName>(command));
  ASSIGN_OR_RETURN(const auto found, groups.Find(message.group()));
  link::v1::FoundGroup response;
  for (const FoundMember& member : found) *response.add_snapshots() = member.snapshot;
  if (!found.empty()) {
    const FoundMember& one = found.front();
    for (const std::string& member : one.group.members) response.add_members(member);
    for (const auto& [key, value] : one.parameters) (*response.mutable_parameters())[key] = value;
  }
  answer = response.SerializeAsString();
  return absl::OkStatus();
}

}  // namespace

grpc::Status Service::CarryOutGroup(const link::v1::Command& command, std::string& answer) {
  const std::string& method = command.method();
  const LogLevel level = method == kFindGroup ? LogLevel::kDebug : LogLevel::kInfo;
  return env_.calls.Run(nullptr, {method, "", level}, [&] {
    if (method == kEndGroup) return EndGroup(groups_, command, answer);
    if (method == kDeleteGroup) return DeleteGroup(groups_, command);
    if (method == kFindGroup) return FindGroup(groups_, command, answer);
    return TakeStep(groups_, command, answer);
  });
}

}  // namespace holdfast::controller
