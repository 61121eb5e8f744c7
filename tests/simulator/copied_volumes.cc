// SPDX-License-Identifier: Apache-2.0
#include "simulator/copied_volumes.h"

#include <fmt/format.h>

#include <algorithm>

#include "pool/volume_evidence.h"

namespace holdfast::simulator {
namespace {

constexpr Bytes kStep = 2 * kCopyUnit;  // of one call

bool HasEffect(Fault fault) {
  return fault == Fault::kNone || fault == Fault::kErrorDone || fault == Fault::kKillDone ||
         fault == Fault::kPowerDone;
}

bool Fails(Fault fault) { return fault == Fault::kError || fault == Fault::kErrorDone; }

absl::Status Failure(const char* name) { return Internal("{} failed, as injected", name); }

absl::Status Missing(const std::string& uuid) {
  return FailedPrecondition("volume {}: the image is missing", uuid);
}

// What a copy holds that ends before its source's data does.
Content CutTo(Content content, Bytes size) {
  if (content.end > size) content.data = "cut off";
  return content;
}

}  // namespace

std::string VersionOf(const Content& content) {
  return fmt::format("{} {} {} {} {}", content.filesystem, content.complete, content.data,
                     content.end, content.hidden);
}

void TakePart(Image& copy, const Content& content, Bytes begin, Bytes end, Bytes size) {
  copy.parts.resize(static_cast<std::size_t>(size / kCopyUnit));
  for (Bytes at = begin; at < end; at += kCopyUnit) {
    copy.parts[static_cast<std::size_t>(at / kCopyUnit)] = CutTo(content, size);
  }
  if (end < size) {
    copy.content = {.filesystem = "", .complete = false, .data = "", .end = end, .hidden = false};
    return;
  }
  const bool torn = std::ranges::any_of(
      copy.parts, [&](const Content& part) { return part != copy.parts.front(); });
  copy.content = copy.parts.front();
  if (torn) copy.content.data = "torn";
  copy.allocated = std::max(copy.allocated, copy.content.end);
}

const Image* CopyingBackend::Find(const std::string& uuid) const {
  const auto found = machine_.volumes.find(uuid);
  const bool there = found != machine_.volumes.end() && found->second->now.image;
  return there ? &*found->second->now.image : nullptr;
}

bool CopyingBackend::IsInUse(const std::string& uuid) const {
  return machine_.devices.contains(uuid);
}

absl::StatusOr<std::optional<pool::CopyProgress>> CopyingBackend::PlanCopy(
    const pool::VolumeRecord& source, VolumeRole) {
  if (can_share_) return std::nullopt;
  const std::string& uuid = source.volume.id.uuid;
  const Fault fault = faults_.At("plan copy", uuid);
  faults_.After(fault);
  if (Fails(fault)) return Failure("plan copy");
  const Image* const from = Find(uuid);
  if (from == nullptr) return Missing(uuid);
  RETURN_IF_ERROR(pool::RequireSize(from->size, source));
  if (IsInUse(uuid)) return std::nullopt;  // copied while it is frozen
  return pool::CopyProgress{
      .data_bytes = from->content.end, .copied_to = 0, .source_version = VersionOf(from->content)};
}

absl::StatusOr<std::string> CopyingBackend::Copy(const pool::VolumeRecord& source,
                                                 const pool::VolumeRecord& record) {
  if (record.copy) return Make(record);
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At("copy", uuid);
  const auto directory = machine_.volumes.find(uuid);
  if (directory == machine_.volumes.end()) return NotFound("volume {} has no directory", uuid);
  if (directory->second->now.image) return AlreadyExists("there is an image already");
  const Image* const from = Find(source.volume.id.uuid);
  if (from == nullptr) return Missing(source.volume.id.uuid);
  RETURN_IF_ERROR(pool::RequireSize(from->size, source));
  if (!can_share_ && !IsInUse(source.volume.id.uuid)) {
    return Aborted("volume {} is not in use any more", source.volume.id.uuid);
  }
  const Bytes size = record.volume.capacity_bytes;
  const bool thick = record.volume.provisioning == Provisioning::kThick;
  if (thick && machine_.Available() < size) return ResourceExhausted("no room, as simulated");
  Image copy{.size = size,
             .allocated = thick ? size : from->content.end,
             .mark = "",
             .content = CutTo(from->content, source.volume.capacity_bytes)};
  if (!HasEffect(fault)) copy = Image{};  // made, and without its bytes
  directory->second->now.image = copy;
  directory->second->synced_image = fault == Fault::kNone ? copy : Image{};
  faults_.After(fault);
  if (Fails(fault)) return Failure("copy");
  return std::string();
}

absl::StatusOr<Bytes> CopyingBackend::CopyOn(const pool::VolumeRecord& source,
                                             const pool::VolumeRecord& record) {
  RETURN_IF_ERROR(RequireUnchanged(source, record));
  const std::string& uuid = record.volume.id.uuid;
  const Fault fault = faults_.At("copy on", uuid);
  const auto directory = machine_.volumes.find(uuid);
  if (directory == machine_.volumes.end() || !directory->second->now.image) return Missing(uuid);
  const Image* const from = Find(source.volume.id.uuid);
  if (from == nullptr) return Missing(source.volume.id.uuid);
  const Bytes size = source.volume.capacity_bytes;
  const Bytes reached = std::min(size, record.copy->copied_to + kStep);
  if (HasEffect(fault)) {
    TakePart(*directory->second->now.image, from->content, record.copy->copied_to, reached, size);
  }
  if (fault == Fault::kNone) directory->second->SyncImage();
  faults_.After(fault);
  if (Fails(fault)) return Failure("copy on");
  RETURN_IF_ERROR(RequireUnchanged(source, record));
  return reached;
}

absl::Status CopyingBackend::RequireUnchanged(const pool::VolumeRecord& source,
                                              const pool::VolumeRecord& record) {
  const std::string& uuid = source.volume.id.uuid;
  const Fault fault = faults_.At("look at the source", uuid);
  faults_.After(fault);
  if (Fails(fault)) return Failure("look at the source");
  const Image* const from = Find(uuid);
  if (from == nullptr) return Missing(uuid);
  return VersionOf(from->content) == record.copy->source_version
             ? absl::OkStatus()
             : FailedPrecondition("the image of {} was changed", uuid);
}

absl::StatusOr<bool> CopyingBackend::SharesStorage(const pool::VolumeRecord& record) {
  if (!can_share_) return false;
  return MemoryBackend::SharesStorage(record);
}

}  // namespace holdfast::simulator
