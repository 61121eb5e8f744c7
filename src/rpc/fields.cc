// SPDX-License-Identifier: Apache-2.0
#include "rpc/fields.h"

#include <fmt/ranges.h>
#include <vector>

#include <algorithm>

#include "fs/filesystem.h"
#include "os/mounter.h"

namespace holdfast::rpc {
namespace {

constexpr std::size_t kMaxString = 128;
constexpr std::size_t kMaxNodeId = 256;
constexpr std::size_t kMaxMap = 4096;
constexpr char kCapability[] = "volume_capability";

// U+0000-0008, 000B, 000C, 000E-001F and 007F-009F (C2 80 to C2 9F in UTF-8).
bool HasBannedControl(const std::string& text) {
  unsigned char previous = 0;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') ||
                         byte == 0x7f || (previous == 0xc2 && byte >= 0x80 && byte <= 0x9f);
    if (control) return true;
    previous = byte;
  }
  return false;
}

absl::StatusOr<AccessMode> ParseMode(csi::v1::VolumeCapability::AccessMode::Mode mode) {
  using Csi = csi::v1::VolumeCapability::AccessMode;
  switch (mode) {
    case Csi::SINGLE_NODE_WRITER:
      return AccessMode::kSingleNodeWriter;
    case Csi::SINGLE_NODE_READER_ONLY:
      return AccessMode::kSingleNodeReaderOnly;
    case Csi::SINGLE_NODE_SINGLE_WRITER:
      return AccessMode::kSingleNodeSingleWriter;
    case Csi::SINGLE_NODE_MULTI_WRITER:
      return AccessMode::kSingleNodeMultiWriter;
    case Csi::MULTI_NODE_READER_ONLY:
      return AccessMode::kMultiNodeReaderOnly;
    case Csi::MULTI_NODE_SINGLE_WRITER:
      return AccessMode::kMultiNodeSingleWriter;
    case Csi::MULTI_NODE_MULTI_WRITER:
      return AccessMode::kMultiNodeMultiWriter;
    default:
      return InvalidArgument("{}.access_mode.mode is missing or unknown", kCapability);
  }
}

absl::Status ReadMount(const csi::v1::VolumeCapability::MountVolume& mount, VolumeUse& use,
                       absl::StatusCode unsupported) {
  if (mount.fs_type().size() > kMaxString) {
    return InvalidArgument("{}.mount.fs_type is longer than {} bytes", kCapability, kMaxString);
  }
  if (!mount.fs_type().empty() && fs::FindFilesystem(mount.fs_type()) == nullptr) {
    return MakeStatus(
        unsupported,
        fmt::format("{}.mount.fs_type '{}' is not supported (supported: {})", kCapability,
                    mount.fs_type(), fmt::join(fs::SupportedFilesystems(), ", ")));
  }
  if (!mount.volume_mount_group().empty()) {
    return InvalidArgument(
        "{}.mount.volume_mount_group is not supported: ext, xfs and btrfs cannot be mounted for a "
        "group; leave fsGroup to the CO",
        kCapability);
  }
  use.filesystem = mount.fs_type();
  use.mount_flags.assign(mount.mount_flags().begin(), mount.mount_flags().end());
  return os::ValidateMountFlags(use.mount_flags, "volume_capability.mount.mount_flags");
}

void ClearMarked(google::protobuf::Message& message) {
  const auto& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  for (const google::protobuf::FieldDescriptor* const field : present) {
    if (field->options().GetExtension(csi::v1::csi_secret)) {
      reflection.ClearField(&message, field);
    } else if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    } else if (!field->is_repeated()) {
      ClearMarked(*reflection.MutableMessage(&message, field));
    } else {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        ClearMarked(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    }
  }
}

}  // namespace

absl::Status RequireId(const std::string& value, const char* field) {
  if (value.empty()) return InvalidArgument("{} is missing", field);
  if (value.size() <= kMaxString) return absl::OkStatus();
  return InvalidArgument("{} is longer than {} bytes", field, kMaxString);
}

absl::Status RequireNodeId(const std::string& value) {
  if (value.empty()) return InvalidArgument("node_id is missing");
  if (value.size() <= kMaxNodeId) return absl::OkStatus();
  return InvalidArgument("node_id is longer than {} bytes", kMaxNodeId);
}

absl::Status RequireName(const std::string& value, const char* field) {
  RETURN_IF_ERROR(RequireId(value, field));
  if (!HasBannedControl(value)) return absl::OkStatus();
  return InvalidArgument("{} holds a control character", field);
}

absl::Status RequirePath(const std::string& value, const char* field) {
  return value.empty() ? InvalidArgument("{} is missing", field) : absl::OkStatus();
}

absl::Status CheckMap(const google::protobuf::Map<std::string, std::string>& map,
                      const char* field) {
  std::size_t size = 0;
  for (const auto& [key, value] : map) size += key.size() + value.size();
  if (size <= kMaxMap) return absl::OkStatus();
  return InvalidArgument("{} is larger than {} bytes", field, kMaxMap);
}

Secrets SecretsIn(const google::protobuf::Map<std::string, std::string>& map) {
  return Secrets({map.begin(), map.end()});
}

void ClearSecrets(google::protobuf::Message& message) {
  message.DiscardUnknownFields();
  ClearMarked(message);
}

absl::StatusOr<VolumeUse> ParseCapability(const csi::v1::VolumeCapability& capability,
                                          absl::StatusCode unsupported) {
  VolumeUse use;
  switch (capability.access_type_case()) {
    case csi::v1::VolumeCapability::kMount:
      use.access_type = AccessType::kMount;
      RETURN_IF_ERROR(ReadMount(capability.mount(), use, unsupported));
      break;
    case csi::v1::VolumeCapability::kBlock:
      use.access_type = AccessType::kBlock;
      break;
    case csi::v1::VolumeCapability::ACCESS_TYPE_NOT_SET:
      return InvalidArgument("{}.access_type is missing", kCapability);
  }
  ASSIGN_OR_RETURN(use.access_mode, ParseMode(capability.access_mode().mode()));
  return use;
}

}  // namespace holdfast::rpc
