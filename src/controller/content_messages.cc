// SPDX-License-Identifier: Apache-2.0
#include "controller/content_messages.h"

#include <algorithm>

#include "fs/filesystem.h"

namespace holdfast::controller {
namespace {

constexpr int kMostUuids = 64;
constexpr std::size_t kLongestVersion = 128;

bool IsSectorSize(std::uint32_t size) { return size == 512 || size == 4096; }

}  // namespace

link::v1::Content ToMessage(const Content& content) {
  link::v1::Content message;
  message.set_capacity_bytes(content.capacity_bytes);
  message.set_data_bytes(content.data_bytes);
  message.set_sector_size(content.sector_size);
  message.set_access_type(std::string(ToString(content.access_type)));
  message.set_filesystem(content.filesystem);
  for (const std::string& uuid : content.inherited_uuids) message.add_inherited_uuids(uuid);
  message.set_version(content.version);
  return message;
}

absl::StatusOr<Content> ParseContent(const link::v1::Content& message) {
  Content content{
      .capacity_bytes = message.capacity_bytes(),
      .data_bytes = message.data_bytes(),
      .sector_size = message.sector_size(),
      .filesystem = message.filesystem(),
      .inherited_uuids = {message.inherited_uuids().begin(), message.inherited_uuids().end()},
      .version = message.version()};
  ASSIGN_OR_RETURN(content.access_type, ParseAccessType(message.access_type()));
  const bool mount = content.access_type == AccessType::kMount;
  const bool sound =
      content.capacity_bytes > 0 && content.capacity_bytes % kVolumeGranularity == 0 &&
      content.data_bytes >= 0 && content.data_bytes <= content.capacity_bytes &&
      IsSectorSize(content.sector_size) && !content.version.empty() &&
      content.version.size() <= kLongestVersion && mount != content.filesystem.empty() &&
      (!mount || fs::FindFilesystem(content.filesystem) != nullptr) &&
      message.inherited_uuids_size() <= kMostUuids &&
      std::ranges::all_of(content.inherited_uuids, IsUuid);
  if (!sound) return InvalidArgument("the content source cannot be as it is described");
  return content;
}

link::v1::HeldContent ToMessage(const HeldContent& held) {
  link::v1::HeldContent message;
  message.set_snapshot(ToSnapshotId(held.snapshot));
  *message.mutable_content() = ToMessage(held.content);
  return message;
}

absl::StatusOr<HeldContent> ParseHeldContent(const link::v1::HeldContent& message,
                                             const VolumeId& source) {
  const auto snapshot = ParseSnapshotId(message.snapshot());
  if (!snapshot || snapshot->pool != source.pool || snapshot->node != source.node) {
    return InvalidArgument("what is held for a clone is not a snapshot in the pool of volume '{}'",
                           source.ToString());
  }
  HeldContent held{.snapshot = *snapshot, .content = {}};
  ASSIGN_OR_RETURN(held.content, ParseContent(message.content()));
  return held;
}

}  // namespace holdfast::controller
