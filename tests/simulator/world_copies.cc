// SPDX-License-Identifier: Apache-2.0
// Snapshots, restores, clones and bytes from another pool, in the schedules of a pool of one node.
#include <fmt/format.h>

#include <algorithm>

#include "simulator/world_call.h"

namespace holdfast::simulator {
namespace {

constexpr Bytes kUnit = kVolumeGranularity;
constexpr Bytes kOfferedSize = 8 * kUnit;
constexpr const char* kOfferedFilesystem = "eeeeeeee-0000-4000-8000-000000000000";

bool HasEffect(Fault fault) {
  return fault == Fault::kNone || fault == Fault::kErrorDone || fault == Fault::kKillDone ||
         fault == Fault::kPowerDone;
}

}  // namespace

// A snapshot of the first volume, a volume that is restored from it, a clone of the second volume,
// and a volume whose source is in another pool.
void World::AddCopies(std::uint64_t seed) {
  can_share_ = Chance(0.4);
  machine_.total *= 2;
  const auto add = [&](VolumeRole role, std::optional<std::size_t> source) -> Claim& {
    Claim claim;
    claim.id = VolumeId{"p", "n", UuidOf(claims_.size() + 1, seed)};
    claim.source = source;
    claim.spec.role = role;
    claim.spec.name = fmt::format("copy-{}", claims_.size());
    claim.spec.provisioning = Chance(0.5) ? Provisioning::kThick : Provisioning::kThin;
    if (source) {
      const Claim& from = claims_[*source];
      claim.spec.source = ContentSource{from.spec.role, from.id};
      claim.spec.access_type = from.spec.access_type;
      claim.spec.filesystem = from.spec.filesystem;
      if (from.is_snapshot()) claim.spec.access_type = claims_[*from.source].spec.access_type;
      if (from.is_snapshot()) claim.spec.filesystem = claims_[*from.source].spec.filesystem;
    }
    claims_.push_back(std::move(claim));
    return claims_.back();
  };
  add(VolumeRole::kSnapshot, 0);
  add(VolumeRole::kVolume, 2);
  add(VolumeRole::kVolume, 1);
  Claim& arriving = add(VolumeRole::kVolume, std::nullopt);
  arriving.spec.source = ContentSource{VolumeRole::kSnapshot, {"q", "m", UuidOf(99, seed)}};
  arriving.spec.filesystem = "ext4";
  Offer();
}

// The snapshot in the other pool, and the one of the same name that takes its place.
void World::Offer() {
  offered_.push_back({.filesystem = kOfferedFilesystem,
                      .complete = true,
                      .data = fmt::format("data-{}", ++tokens_),
                      .end = kOfferedSize,
                      .hidden = false});
  const auto arriving = std::ranges::find_if(
      claims_, [](const Claim& claim) { return claim.is_copy() && !claim.source; });
  arriving->spec.content = holdfast::Content{.capacity_bytes = kOfferedSize,
                                             .data_bytes = kOfferedSize,
                                             .sector_size = 512,
                                             .access_type = AccessType::kMount,
                                             .filesystem = "ext4",
                                             .inherited_uuids = {kOfferedFilesystem},
                                             .version = VersionOf(offered_.back())};
}

void World::ActOnCopy(Claim& claim) {
  ++calls_;
  if (claim.spec.content && !claim.created) {
    if (Chance(0.05)) Offer();
    if (claim.arriving && Chance(0.3)) return Delete(claim);
    if (Chance(0.5)) return Arrive(claim);
  }
  const pool::VolumeRecord* const record = RecordOf(claim);
  const bool copying = record != nullptr && record->volume.state == VolumeState::kCopying;
  if (claim.source && copying && Chance(0.5)) WriteOutside(claims_[*claim.source]);
  if (claim.deleting) return Chance(0.2) ? Unstage(claim) : Delete(claim);
  if (!claim.created) return Chance(0.85) ? CreateCopy(claim) : Delete(claim);
  const auto choice = random_() % 8;
  if (choice < 2 || (claim.is_snapshot() && choice < 6)) return CreateCopy(claim);  // repeated
  if (claim.is_snapshot()) return Delete(claim);
  if (choice == 2) return Grow(claim);
  if (choice == 3) return Chance(0.5) ? Unstage(claim) : Delete(claim);
  return Stage(claim);
}

// The caller of the pool holds the lock of the source, too.
void World::CreateCopy(Claim& claim) {
  Claim* const source = claim.source ? &claims_[*claim.source] : nullptr;
  if (source != nullptr && source->locked) return;  // ABORTED
  Observe();
  if (!machine_.volumes.contains(claim.id.uuid)) {
    const auto& history = source == nullptr ? offered_ : source->history;
    claim.since = history.empty() ? 0 : history.size() - 1;
    claim.complete = claim.is_void = claim.tainted = false;
  }
  if (source != nullptr && (source->restored || source->tainted)) claim.tainted = true;
  if (source != nullptr) source->locked = true;
  Create(claim);
  if (source != nullptr) source->locked = false;
}

void World::Lock(Claim& claim) {
  while (claim.locked) {
    fibers_->Yield();
    if (dead_) throw Killed();
  }
  claim.locked = true;
}

// As controller/content_transfers.cc does it: one at a time for a volume, with its lock only for
// what changes its record.
void World::Arrive(Claim& claim) {
  if (claim.arriving) return;
  claim.arriving = true;
  Trace(fmt::format("bytes of {} arrive", claim.spec.name));
  const absl::Status brought = Bring(claim);
  if (!brought.ok()) Trace("  " + MessageOf(brought));
  claim.arriving = false;
}

absl::Status World::Bring(Claim& claim) {
  Call call(*this);
  const Content content = offered_.back();
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   call.volumes.GetArriving(claim.id, VersionOf(content)));
  // As an open file: it stays the same one when the volume is deleted.
  const auto directory = machine_.volumes.at(claim.id.uuid);
  for (Bytes at = record.copy->copied_to; at < kOfferedSize; at += kUnit) {
    claim.locked = false;
    const Fault fault = At("bring", claim.id.uuid);
    const bool gone = !directory->now.image;
    if (!gone && HasEffect(fault)) {
      TakePart(*directory->now.image, content, at, at + kUnit, kOfferedSize);
      if (fault == Fault::kNone) directory->SyncImage();
    }
    After(fault);
    Lock(claim);
    if (gone) return Aborted("the image went");
    if (fault != Fault::kNone) return Unavailable("a part is lost, as injected");
    RETURN_IF_ERROR(call.volumes.NoteArrived(claim.id, record.copy->arrival, at + kUnit));
  }
  return call.volumes.FinishArrival(claim.id, record.copy->arrival);
}

// As node/format_once.cc does it: there is no way from here to mkfs.
void World::Adopt(Call& call, Claim& claim, const pool::VolumeRecord& record) {
  const Volume& volume = record.volume;
  const auto image = [&] { return ImageOf(claim); };
  if (image() == nullptr || image()->content.hidden) return;  // nothing is recognised
  std::vector<std::string> known = volume.inherited_uuids;
  known.push_back(volume.filesystem_uuid);
  if (std::ranges::find(known, image()->content.filesystem) == known.end() ||
      !image()->content.complete) {
    if (!claim.tainted) Fail(claim.spec.name + " lacks the filesystem of its source");
    return;
  }
  const Fault fault = At("change UUID", claim.id.uuid);
  if (image() == nullptr) return;
  if (HasEffect(fault)) image()->content.filesystem = volume.filesystem_uuid;
  if (fault == Fault::kNone) machine_.volumes.at(claim.id.uuid)->SyncImage();
  After(fault);
  if (fault != Fault::kNone) return;
  const absl::Status adopted = call.volumes.FinishAdoption(claim.id);
  if (!adopted.ok()) Trace("  " + MessageOf(adopted));
}

// Another program changes the image of a volume that nothing uses.
void World::WriteOutside(Claim& claim) {
  Image* const image = ImageOf(claim);
  if (image == nullptr || claim.data.empty() || claim.is_snapshot() || claim.deleting ||
      machine_.devices.contains(claim.id.uuid)) {
    return;
  }
  claim.data = fmt::format("outside-{}", ++tokens_);
  Trace(fmt::format("{} is changed from outside: {}", claim.spec.name, claim.data));
  image->content.data = claim.data;
  machine_.volumes.at(claim.id.uuid)->SyncImage();
}

pool::VolumeRecord* World::RecordOf(const Claim& claim) {
  const auto found = machine_.volumes.find(claim.id.uuid);
  const bool recorded = found != machine_.volumes.end() && found->second->now.record;
  return recorded ? &*found->second->now.record : nullptr;
}

void World::Observe() {
  for (Claim& claim : claims_) Observe(claim);
}

void World::Observe(Claim& claim) {
  const Image* const image = ImageOf(claim);
  const pool::VolumeRecord* const record = RecordOf(claim);
  if (image == nullptr) return;
  if (claim.is_copy()) {
    if (record == nullptr || !pool::IsUsable(record->volume.state)) return;
    if (record->volume.state == VolumeState::kCopying) {
      if (claim.created && !claim.deleting && !claim.is_snapshot()) {
        Fail(claim.spec.name + " was returned before it was complete");
      }
      if (claim.source && !image->copied) ObserveSource(claim, *record);
      return;
    }
  }
  if (claim.history.empty() || claim.history.back() != image->content) {
    claim.history.push_back(image->content);
  }
  if (!claim.is_copy() || !claim.created || claim.complete) return;
  claim.complete = true;
  CheckCopy(claim, *image);
}

// Unless its record could not be read at the start, nothing takes its source away.
void World::ObserveSource(Claim& claim, const pool::VolumeRecord& record) {
  const Claim& source = claims_[*claim.source];
  const Image* const image = ImageOf(source);
  const bool changed =
      image == nullptr ? error_rate_ > 0 : VersionOf(image->content) != record.copy->source_version;
  if (changed) claim.is_void = true;
  if (claim.is_void || claim.tainted || source.restored || error_rate_ > 0 || !counted_) return;
  if (image == nullptr) return Fail(claim.spec.name + " is being copied, and its source is gone");
  if (machine_.devices.contains(source.id.uuid)) {
    Fail(claim.spec.name + " is being copied, and its source is a device");
  }
}

void World::CheckCopy(Claim& claim, const Image& image) {
  claim.data = image.content.data;
  if (claim.tainted) return;
  const auto& history = claim.source ? claims_[*claim.source].history : offered_;
  const auto first = history.begin() + static_cast<std::ptrdiff_t>(claim.since);
  if (std::find(first, history.end(), image.content) != history.end()) return;
  Fail(fmt::format("{} holds '{}', and not what its source held at one instant", claim.spec.name,
                   VersionOf(image.content)));
}

// Nothing is ever written to a snapshot: it needs what it has.
Bytes World::PromisedTo(const pool::VolumeRecord& record, const Image* image) {
  if (record.volume.role != VolumeRole::kSnapshot) {
    return std::max(record.volume.capacity_bytes, record.grow_to_bytes);
  }
  if (record.copy) return record.copy->data_bytes;
  return image == nullptr ? 0 : image->allocated;
}

// A snapshot that was given out stays until it is deleted, also when it can never be completed.
bool World::MayBeLeft(const pool::VolumeRecord& record) {
  for (const Claim& claim : claims_) {
    if (claim.id.uuid == record.volume.id.uuid) return claim.is_snapshot() && claim.is_void;
  }
  return false;
}

}  // namespace holdfast::simulator
