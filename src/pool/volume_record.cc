// SPDX-License-Identifier: Apache-2.0
#include "pool/volume_record.h"

#include <limits>

#include "core/checked_json.h"

namespace holdfast::pool {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;

absl::Status CheckConsistency(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  const bool mount = volume.access_type == AccessType::kMount;
  const bool has_uuid =
      volume.state == VolumeState::kFormatting || volume.state == VolumeState::kFormatted;
  if (!IsUuid(volume.id.uuid)) return Internal("volume record is damaged: bad uuid");
  if (volume.capacity_bytes <= 0 || volume.capacity_bytes % kVolumeGranularity != 0) {
    return Internal("volume record is damaged: impossible capacity {}", volume.capacity_bytes);
  }
  if (record.grow_to_bytes != 0 && record.grow_to_bytes <= volume.capacity_bytes) {
    return Internal("volume record is damaged: impossible growth to {}", record.grow_to_bytes);
  }
  if (mount == volume.filesystem.empty() || (has_uuid && !IsUuid(volume.filesystem_uuid))) {
    return Internal("volume record is damaged: filesystem and state contradict each other");
  }
  return absl::OkStatus();
}

// The library would take 1e9, and turn what is too large for the type into another number.
absl::StatusOr<std::int64_t> WholeNumber(const json& object, const char* name) {
  const json& value = object.at(name);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost)) {
    return Internal("volume record is damaged: {} is not a whole number, or too large", name);
  }
  return value.get<std::int64_t>();
}

absl::StatusOr<std::uint32_t> SectorSize(const json& object) {
  ASSIGN_OR_RETURN(const std::int64_t size, WholeNumber(object, "sector_size"));
  if (size == 512 || size == 4096) return static_cast<std::uint32_t>(size);
  return Internal("volume record is damaged: impossible sector size {}", size);
}

absl::StatusOr<VolumeRecord> FromJson(const json& object) {
  VolumeRecord record;
  Volume& volume = record.volume;
  object.at("uuid").get_to(volume.id.uuid);
  object.at("name").get_to(volume.name);
  ASSIGN_OR_RETURN(volume.capacity_bytes, WholeNumber(object, "capacity_bytes"));
  ASSIGN_OR_RETURN(record.grow_to_bytes, WholeNumber(object, "grow_to_bytes"));
  ASSIGN_OR_RETURN(record.sector_size, SectorSize(object));
  record.image_name = object.value("image_name", "");
  record.image_id = object.value("image_id", "");
  object.at("filesystem").get_to(volume.filesystem);
  object.at("filesystem_uuid").get_to(volume.filesystem_uuid);
  object.at("mkfs_options").get_to(volume.mkfs_options);
  object.at("parameters").get_to(volume.parameters);
  object.at("created_at").get_to(volume.created_at);
  ASSIGN_OR_RETURN(volume.provisioning,
                   ParseProvisioning(object.at("provisioning").get<std::string>()));
  ASSIGN_OR_RETURN(volume.access_type,
                   ParseAccessType(object.at("access_type").get<std::string>()));
  ASSIGN_OR_RETURN(volume.state, ParseVolumeState(object.at("state").get<std::string>()));
  RETURN_IF_ERROR(CheckConsistency(record));
  return record;
}

}  // namespace

bool IsUsable(VolumeState state) {
  switch (state) {
    case VolumeState::kAllocating:
    case VolumeState::kDeleting:
      return false;
    case VolumeState::kReady:
    case VolumeState::kFormatting:
    case VolumeState::kFormatted:
      return true;
  }
  return false;
}

std::string EncodeRecord(const VolumeRecord& record) {
  const Volume& volume = record.volume;
  json object{
      {"uuid", volume.id.uuid},
      {"name", volume.name},
      {"state", ToString(volume.state)},
      {"capacity_bytes", volume.capacity_bytes},
      {"grow_to_bytes", record.grow_to_bytes},
      {"provisioning", ToString(volume.provisioning)},
      {"access_type", ToString(volume.access_type)},
      {"sector_size", record.sector_size},
      {"filesystem", volume.filesystem},
      {"filesystem_uuid", volume.filesystem_uuid},
      {"mkfs_options", volume.mkfs_options},
      {"parameters", volume.parameters},
      {"created_at", volume.created_at},
  };
  if (!record.image_name.empty()) object["image_name"] = record.image_name;
  if (!record.image_id.empty()) object["image_id"] = record.image_id;
  return EncodeChecked(std::move(object), kSchemaVersion);
}

absl::StatusOr<VolumeRecord> DecodeRecord(std::string_view text) {
  ASSIGN_OR_RETURN(const json object, DecodeChecked(text, kSchemaVersion, "volume record"));
  try {
    absl::StatusOr<VolumeRecord> record = FromJson(object);
    if (record.ok()) return record;
    return WithCode(record.status(), absl::StatusCode::kInternal);
  } catch (const json::exception& error) {
    return Internal("volume record is damaged: {}", error.what());
  }
}

}  // namespace holdfast::pool
