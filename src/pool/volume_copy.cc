// SPDX-License-Identifier: Apache-2.0
// What a snapshot, a restored volume or a clone takes from its source (docs/adr/0025).
#include <algorithm>
#include <utility>

#include "pool/volume_evidence.h"
#include "pool/volume_lifecycle.h"

namespace holdfast::pool {
namespace {

// The UUIDs that a filesystem in a copy of these bytes can have.
std::vector<std::string> UuidsIn(const Volume& source) {
  std::vector<std::string> uuids = source.inherited_uuids;
  if (source.role == VolumeRole::kSnapshot) return uuids;
  // The copied filesystem has been given its own, or has it perhaps.
  if (source.state == VolumeState::kFormatted) uuids.clear();
  if (!source.filesystem_uuid.empty()) uuids.push_back(source.filesystem_uuid);
  return uuids;
}

absl::Status RequireUsableAs(const VolumeSpec& spec, const Volume& source, bool has_filesystem) {
  if (spec.access_type == AccessType::kBlock) return absl::OkStatus();
  if (source.access_type == AccessType::kBlock && !has_filesystem) {
    return InvalidArgument(
        "volume_content_source is a raw block {}, which cannot become a filesystem volume",
        ToString(source.role));
  }
  if (!has_filesystem || source.filesystem == spec.filesystem) return absl::OkStatus();
  return InvalidArgument("volume_content_source holds {}, and {} is requested", source.filesystem,
                         spec.filesystem);
}

}  // namespace

absl::StatusOr<VolumeRecord> VolumeLifecycle::NewCopyRecord(const VolumeSpec& spec,
                                                            const std::string& uuid,
                                                            const VolumeRecord& source,
                                                            absl::Time now) {
  const Volume& from = source.volume;
  VolumeSpec copy = spec;
  CapacityRange range = {.required = from.capacity_bytes, .limit = 0};
  std::vector<std::string> inherited = UuidsIn(from);
  if (spec.role == VolumeRole::kSnapshot) {
    copy.provisioning = from.provisioning;
    copy.access_type = from.access_type;
    copy.filesystem = from.filesystem;
    copy.mkfs_options = from.mkfs_options;
  } else {
    RETURN_IF_ERROR(RequireUsableAs(spec, from, !inherited.empty()));
    range = {.required = std::max(spec.capacity.required, from.capacity_bytes),
             .limit = spec.capacity.limit};
  }
  ASSIGN_OR_RETURN(const Bytes capacity, ChooseCapacity(range, from.capacity_bytes));
  VolumeRecord record = NewRecord(copy, uuid, capacity, source.sector_size, now);
  record.volume.inherited_uuids = std::move(inherited);
  const bool adopts = spec.role == VolumeRole::kVolume && copy.access_type == AccessType::kMount &&
                      !record.volume.inherited_uuids.empty();
  if (adopts) record.volume.filesystem_uuid = RandomUuid();
  return record;
}

VolumeState VolumeLifecycle::FirstStateOf(const Volume& volume) {
  const bool inherits = volume.role == VolumeRole::kVolume &&
                        volume.access_type == AccessType::kMount && !volume.inherited_uuids.empty();
  return inherits ? VolumeState::kInherited : VolumeState::kReady;
}

bool VolumeLifecycle::IsCompleteCopy(const VolumeRecord& record) {
  const VolumeState state = record.volume.state;
  const bool unfinished = state == VolumeState::kAllocating || state == VolumeState::kCopying ||
                          state == VolumeState::kCut;
  return unfinished && record.volume.source && backend_.IsMarkedCopied(record).value_or(false);
}

// The call that marked it may have failed before the mark was durable.
absl::StatusOr<VolumeRecord> VolumeLifecycle::FinishMarkedCopy(const VolumeRecord& record) {
  RETURN_IF_ERROR(backend_.MarkCopied(record));
  return FinishCopy(record);
}

absl::StatusOr<VolumeRecord> VolumeLifecycle::FinishCopy(const VolumeRecord& record) {
  VolumeRecord next = record;
  next.volume.state = FirstStateOf(record.volume);
  next.copy.reset();
  RETURN_IF_ERROR(RequireSize(backend_, next));
  RETURN_IF_ERROR(records_.Replace(record, next));
  RETURN_IF_ERROR(records_.SyncName());
  RETURN_IF_ERROR(Account(next));
  return next;
}

}  // namespace holdfast::pool
