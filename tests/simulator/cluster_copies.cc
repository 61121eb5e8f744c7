// SPDX-License-Identifier: Apache-2.0
// Snapshots, restores, clones and bytes from another pool, in the schedules of a shared pool.
#include <fmt/format.h>

#include <algorithm>

#include "simulator/cluster_call.h"

namespace holdfast::simulator {
namespace {

constexpr Bytes kUnit = kVolumeGranularity;
constexpr Bytes kOfferedSize = 8 * kUnit;
constexpr const char* kOfferedFilesystem = "eeeeeeee-0000-4000-8000-000000000000";
constexpr int kSourceNode = 0;  // which has the other pool

std::string UuidOf(std::uint64_t high, std::uint64_t low) {
  return fmt::format("{:08x}-0000-4000-8000-{:012x}", high & 0xffffffff, low & 0xffffffffffff);
}

bool HasEffect(Fault fault) {
  return fault == Fault::kNone || fault == Fault::kErrorDone || fault == Fault::kKillDone;
}

}  // namespace

// A snapshot of the first volume, a volume that is restored from it, a clone of the second volume,
// and a volume whose source is in another pool.
void ClusterWorld::AddCopies(std::uint64_t seed) {
  cluster_.flattens = Chance(0.5);
  const auto add = [&](VolumeRole role, std::optional<std::size_t> source) {
    Claim claim;
    claim.id = VolumeId{"p", "", UuidOf(claims_.size() + 1, seed)};
    claim.source = source;
    claim.spec.role = role;
    claim.spec.name = fmt::format("copy-{}", claims_.size());
    claim.spec.provisioning = Provisioning::kThin;
    if (source) {
      const Claim& from = claims_[*source];
      claim.spec.source = ContentSource{from.spec.role, from.id};
      claim.spec.access_type = from.spec.access_type;
      claim.spec.filesystem = from.spec.filesystem;
    }
    claims_.push_back(std::move(claim));
  };
  add(VolumeRole::kSnapshot, 0);
  add(VolumeRole::kVolume, 2);
  add(VolumeRole::kVolume, 1);
  add(VolumeRole::kVolume, std::nullopt);
  claims_.back().spec.source = ContentSource{VolumeRole::kSnapshot, {"q", "m", UuidOf(99, seed)}};
  claims_.back().spec.filesystem = "ext4";
  Offer();
}

// The snapshot in the other pool, and the one of the same name that takes its place.
void ClusterWorld::Offer() {
  offered_.push_back({.filesystem = kOfferedFilesystem,
                      .complete = true,
                      .data = fmt::format("data-{}", ++tokens_),
                      .end = kOfferedSize,
                      .hidden = false});
  claims_.back().spec.content = holdfast::Content{.capacity_bytes = kOfferedSize,
                                                  .data_bytes = kOfferedSize,
                                                  .sector_size = 512,
                                                  .access_type = AccessType::kMount,
                                                  .filesystem = "ext4",
                                                  .inherited_uuids = {kOfferedFilesystem},
                                                  .version = VersionOf(offered_.back())};
}

// Also of a volume that is no copy. The caller of the pool holds its process's lock of the source.
void ClusterWorld::CreateCopy(NodeFaults& faults, Claim& claim) {
  if (!claim.is_copy()) return Create(faults, claim);
  Claim* const source = claim.source ? &claims_[*claim.source] : nullptr;
  const auto node = static_cast<std::size_t>(faults.node());
  if (source != nullptr && source->locked[node]) return;  // ABORTED
  if (source == nullptr && !claim.created && Chance(0.05)) Offer();
  Observe();
  if (claim.in_flight == 1 && !cluster_.records.contains(claim.id.uuid)) {
    const auto& history = source == nullptr ? offered_ : source->history;
    claim.since = history.empty() ? 0 : history.size() - 1;
    claim.complete = false;
  }
  if (source == nullptr) return Create(faults, claim);
  source->locked[node] = true;
  try {
    Create(faults, claim);
  } catch (const Killed&) {
    source->locked[node] = false;
    throw;
  }
  source->locked[node] = false;
}

// As controller/content_transfers.cc does it: the node with the source brings the bytes, those of
// one volume once at a time.
void ClusterWorld::Arrive(NodeFaults& faults, Claim& claim) {
  if (faults.node() != kSourceNode || claim.bringing_epoch == epochs_[kSourceNode]) return;
  claim.bringing_epoch = epochs_[kSourceNode];
  Trace(fmt::format("bytes of {} arrive", claim.spec.name));
  const absl::Status brought = Bring(faults, claim);
  if (!brought.ok()) Trace("  " + MessageOf(brought));
  claim.bringing_epoch = -1;
}

absl::Status ClusterWorld::Bring(NodeFaults& faults, Claim& claim) {
  Call call(*this, faults);
  const Content content = offered_.back();
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   call.volumes.GetArriving(claim.id, VersionOf(content)));
  if (!record.copy) return Internal("a volume whose bytes arrive has no progress");
  const pool::CopyProgress& progress = *record.copy;
  for (Bytes at = progress.copied_to; at < kOfferedSize; at += kUnit) {
    const Fault fault = faults.At("bring", claim.id.uuid);
    const auto image = cluster_.images.find(record.image_name);
    if (image != cluster_.images.end() && HasEffect(fault)) {
      TakePart(image->second.image, content, at, at + kUnit, kOfferedSize);
    }
    const bool gone = image == cluster_.images.end();
    faults.After(fault);
    if (gone) return Aborted("the image went");
    if (fault != Fault::kNone) return Unavailable("a part is lost, as injected");
    RETURN_IF_ERROR(call.volumes.NoteArrived(claim.id, progress.arrival, at + kUnit));
  }
  return call.volumes.FinishArrival(claim.id, progress.arrival);
}

// As node/format_once.cc does it: there is no way from here to mkfs.
absl::Status ClusterWorld::Adopt(Call& call, NodeFaults& faults, Claim& claim,
                                 const pool::VolumeRecord& record) {
  const Volume& volume = record.volume;
  std::vector<std::string> known = volume.inherited_uuids;
  known.push_back(volume.filesystem_uuid);
  Image* image = Writable(faults.node(), claim);
  if (image == nullptr) return Unavailable("the device fails");
  if (std::ranges::find(known, image->content.filesystem) == known.end() ||
      !image->content.complete) {
    Fail(claim.spec.name + " lacks the filesystem of its source");
  }
  const Fault fault = faults.At("change UUID", claim.id.uuid);
  image = Writable(faults.node(), claim);
  if (image != nullptr && HasEffect(fault)) image->content.filesystem = volume.filesystem_uuid;
  faults.After(fault);
  if (image == nullptr || fault != Fault::kNone) return Unavailable("the device fails");
  return call.volumes.FinishAdoption(claim.id);
}

void ClusterWorld::Observe() {
  for (Claim& claim : claims_) Observe(claim);
}

void ClusterWorld::Observe(Claim& claim) {
  const auto entry = cluster_.records.find(claim.id.uuid);
  if (entry == cluster_.records.end()) return;
  const auto record = pool::DecodeRecord(entry->second.record);
  const auto image = record.ok() ? cluster_.images.find(record->image_name) : cluster_.images.end();
  if (image == cluster_.images.end()) return;
  if (claim.is_copy() && record->volume.state == VolumeState::kCopying) {
    if (!claim.created || claim.deleting) return;
    return Fail(claim.spec.name + " was returned before it was complete");
  }
  const Content& content = image->second.image.content;
  if (claim.history.empty() || claim.history.back() != content) claim.history.push_back(content);
  if (claim.is_copy() && claim.created && !claim.complete && !claim.deleting) {
    claim.complete = true;
    CheckCopy(claim, image->second.image);
  }
}

void ClusterWorld::CheckCopy(Claim& claim, const Image& image) {
  claim.data = image.content.data;
  const auto& history = claim.source ? claims_[*claim.source].history : offered_;
  const auto first = history.begin() + static_cast<std::ptrdiff_t>(claim.since);
  if (std::find(first, history.end(), image.content) != history.end()) return;
  Fail(fmt::format("{} holds '{}', and not what its source held at one instant", claim.spec.name,
                   VersionOf(image.content)));
}

}  // namespace holdfast::simulator
