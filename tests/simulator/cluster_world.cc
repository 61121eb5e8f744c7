// SPDX-License-Identifier: Apache-2.0
#include "simulator/cluster_world.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/cluster_call.h"

namespace holdfast::simulator {
namespace {

constexpr int kFibersPerNode = 2;
constexpr int kActs = 12;  // of a fiber
constexpr int kRepairs = 8;
constexpr Bytes kUnit = kVolumeGranularity;
constexpr std::uint32_t kSectorSize = 512;

std::string UuidOf(std::uint64_t high, std::uint64_t low) {
  return fmt::format("{:08x}-0000-4000-8000-{:012x}", high & 0xffffffff, low & 0xffffffffffff);
}

}  // namespace

ClusterWorld::ClusterWorld(std::uint64_t seed, bool trace) : random_(seed), trace_(trace) {
  virtual_now = absl::FromUnixSeconds(1'800'000'000);
  const auto rate = [&](std::initializer_list<double> rates) {
    return *(rates.begin() + random_() % rates.size());
  };
  error_rate_ = rate({0, 0.02, 0.1});
  kill_rate_ = rate({0, 0.01, 0.04});
  outage_rate_ = rate({0, 0.01, 0.03});
  cluster_.room = (Chance(0.3) ? 8 : 64) * kUnit;
  for (std::uint64_t i = 0; i < 2; ++i) {
    Claim claim;
    claim.id = VolumeId{"p", "", UuidOf(i + 1, seed)};
    claim.spec.name = fmt::format("pvc-{}", i);
    claim.spec.capacity.required = SomeSize();
    claim.spec.provisioning = Provisioning::kThin;
    claim.spec.access_type = Chance(0.7) ? AccessType::kMount : AccessType::kBlock;
    if (claim.spec.access_type == AccessType::kMount) claim.spec.filesystem = "ext4";
    claims_.push_back(std::move(claim));
  }
  if (Chance(0.5)) AddCopies(seed);
}

bool ClusterWorld::Chance(double probability) {
  return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

Bytes ClusterWorld::SomeSize() { return static_cast<Bytes>(1 + random_() % 6) * kUnit; }

void ClusterWorld::Trace(const std::string& line) const {
  if (trace_) fmt::print("{}\n", line);
}

void ClusterWorld::Fail(std::string what) {
  if (!problem_.empty()) return;
  problem_ = std::move(what);
  Trace("!! " + problem_);
}

// A node dies with its devices, is cut off and continues, or returns.
void ClusterWorld::DisturbNodes() {
  for (std::size_t node = 0; node < kNodes; ++node) {
    if (!Chance(outage_rate_)) continue;
    if (!alive_[node]) {
      alive_[node] = true;
      Trace(fmt::format("node {} is back", node));
    } else if (Chance(0.5)) {
      alive_[node] = false;
      Trace(fmt::format("node {} is cut off", node));
    } else {
      alive_[node] = false;
      devices_[node].clear();
      ++epochs_[node];
      Trace(fmt::format("node {} dies", node));
    }
  }
}

bool ClusterWorld::Run() {
  Fibers fibers(random_);
  fibers_ = &fibers;
  for (int node = 0; node < kNodes; ++node) {
    for (int i = 0; i < kFibersPerNode; ++i) fibers.Add([this, node] { ActOn(node); });
  }
  fibers.Run();
  fibers_ = nullptr;
  Quiesce();
  return problem_.empty();
}

void ClusterWorld::ActOn(int node) {
  for (int i = 0; i < kActs && problem_.empty(); ++i) {
    Claim& claim = claims_[random_() % claims_.size()];
    fibers_->Yield();
    if (claim.locked[node]) continue;
    NodeFaults faults(*this, node);
    claim.locked[node] = true;
    ++claim.in_flight;
    try {
      Act(faults, claim);
    } catch (const Killed&) {
      Trace(fmt::format("node {}: a call was killed", node));
    }
    --claim.in_flight;
    claim.locked[node] = false;
  }
}

void ClusterWorld::Act(NodeFaults& faults, Claim& claim) {
  ++calls_;
  const int node = faults.node();
  if (Chance(0.1)) return Repair(faults, claim);
  if (claim.deleting) return Delete(faults, claim);
  if (claim.spec.content && !claim.created && Chance(0.5)) return Arrive(faults, claim);
  if (!claim.created) return CreateCopy(faults, claim);
  if (claim.node == node && Chance(0.3)) return Unstage(node, claim);
  // The orchestrator deletes once all users and earlier calls are gone.
  if (claim.node < 0 && claim.in_flight == 1 && Chance(0.3)) return Delete(faults, claim);
  if (claim.is_snapshot() || Chance(0.15)) return CreateCopy(faults, claim);
  if (Chance(0.3)) return Grow(faults, claim);
  return Stage(faults, claim);
}

void ClusterWorld::Create(NodeFaults& faults, Claim& claim) {
  Trace(fmt::format("node {}: create {} {}", faults.node(), claim.spec.name,
                    claim.spec.capacity.required));
  Call call(*this, faults);
  const auto made = call.volumes.Create(claim.spec, claim.id, kSectorSize);
  if (!made.ok()) return Trace("  " + MessageOf(made.status()));
  claim.created = true;
  claim.size = std::max(claim.size, made->volume.capacity_bytes);
  if (made->volume.capacity_bytes < claim.spec.capacity.required) Fail("a volume is too small");
}

void ClusterWorld::Delete(NodeFaults& faults, Claim& claim) {
  Trace(fmt::format("node {}: delete {}", faults.node(), claim.spec.name));
  claim.deleting = true;
  Call call(*this, faults);
  const absl::Status deleted = call.volumes.Delete(claim.id, claim.spec.role);
  if (!deleted.ok()) return Trace("  " + MessageOf(deleted));
  if (cluster_.records.contains(claim.id.uuid)) Fail("deleted, and still recorded");
  if (claim.in_flight > 1) return;  // another process still deletes it
  claim.created = claim.deleting = claim.complete = false;
  claim.size = 0;
  claim.data.clear();
}

void ClusterWorld::Grow(NodeFaults& faults, Claim& claim) {
  const Bytes target = claim.size + SomeSize();
  Trace(fmt::format("node {}: grow {} to {}", faults.node(), claim.spec.name, target));
  Call call(*this, faults);
  const auto grown = call.volumes.Grow(claim.id, target, 0);
  if (!grown.ok()) {
    if (absl::IsNotFound(grown.status()) && !claim.deleting) Fail("a volume is not found");
    return Trace("  " + MessageOf(grown.status()));
  }
  if (grown->volume.capacity_bytes < target) Fail("grown, and too small");
  claim.size = std::max(claim.size, grown->volume.capacity_bytes);
  claim.spec.capacity.required = std::min(claim.spec.capacity.required, claim.size);
}

// The image that the node's device writes to; null if its writes do not arrive.
Image* ClusterWorld::Writable(int node, const Claim& claim) {
  const auto device = devices_[node].find(claim.id.uuid);
  if (device == devices_[node].end() || device->second.fenced) return nullptr;
  const auto image = cluster_.images.find(device->second.image);
  return image == cluster_.images.end() ? nullptr : &image->second.image;
}

// As node/format_once.cc does it, with mkfs as two steps.
absl::Status ClusterWorld::Format(Call& call, NodeFaults& faults, Claim& claim,
                                  const pool::VolumeRecord& record) {
  const Volume& volume = record.volume;
  const auto finish = [&](const std::string& uuid) -> absl::Status {
    const Image* const present = Writable(faults.node(), claim);
    if (present == nullptr) return Unavailable("the device fails");
    if (present->content.filesystem != uuid || !present->content.complete) {
      return FailedPrecondition("the device lacks its filesystem");
    }
    if (volume.state != VolumeState::kFormatting || volume.filesystem_uuid != uuid) {
      RETURN_IF_ERROR(call.volumes.StartFormatting(claim.id, uuid));
    }
    return call.volumes.FinishFormatting(claim.id);
  };
  if (volume.state == VolumeState::kFormatting) {
    ASSIGN_OR_RETURN(const std::string mark, call.volumes.FormattedUuid(claim.id));
    if (!mark.empty()) return finish(mark);
    RETURN_IF_ERROR(call.volumes.Zero(claim.id));
    RETURN_IF_ERROR(call.volumes.Map(claim.id).status());
  }
  Image* image = Writable(faults.node(), claim);
  if (image == nullptr) return Unavailable("the device fails");
  const std::string uuid = UuidOf(++tokens_, 7);
  const absl::Status started = image->content.end == 0
                                   ? call.volumes.StartFormatting(claim.id, uuid)
                                   : FailedPrecondition("the device is not blank");
  if (absl::IsFailedPrecondition(started)) {
    ASSIGN_OR_RETURN(const std::string mark, call.volumes.FormattedUuid(claim.id));
    if (!mark.empty()) return finish(mark);
  }
  RETURN_IF_ERROR(started);
  const Fault begun = faults.At("mkfs begins", claim.id.uuid);
  image = Writable(faults.node(), claim);
  if (image == nullptr) return Unavailable("the device fails");
  if (image->content.end != 0) Fail("mkfs runs on bytes that are not blank");
  if (!image->mark.empty()) Fail("mkfs runs on bytes that are marked as formatted");
  image->content = {
      .filesystem = uuid, .complete = false, .data = "", .end = kUnit, .hidden = false};
  faults.After(begun);
  if (begun != Fault::kNone) return Internal("mkfs failed");
  const Fault ended = faults.At("mkfs ends", claim.id.uuid);
  image = Writable(faults.node(), claim);
  if (image == nullptr) return Unavailable("the device fails");
  image->content.complete = true;
  faults.After(ended);
  return call.volumes.FinishFormatting(claim.id);
}

void ClusterWorld::Stage(NodeFaults& faults, Claim& claim) {
  const int node = faults.node();
  // The orchestrator moves the users away from a node only when it is gone.
  if (claim.node >= 0 && claim.node != node && alive_[claim.node]) return;
  Trace(fmt::format("node {}: stage {}", node, claim.spec.name));
  claim.node = node;
  Call call(*this, faults);
  const auto mapped = call.volumes.Map(claim.id);
  if (!mapped.ok()) {
    if (absl::IsNotFound(mapped.status()) && !claim.deleting) Fail("a volume is not found");
    return Trace("  " + MessageOf(mapped.status()));
  }
  if (mapped->size < claim.size && !claim.deleting) Fail("the device is smaller than promised");
  const auto record = call.volumes.Get(claim.id);
  if (!record.ok()) return Trace("  " + MessageOf(record.status()));
  if (record->volume.state == VolumeState::kInherited) {
    const absl::Status adopted = Adopt(call, faults, claim, *record);
    return Trace("  " + (adopted.ok() ? "adopted" : MessageOf(adopted)));  // then again
  }
  if (claim.spec.access_type == AccessType::kMount &&
      record->volume.state != VolumeState::kFormatted) {
    const absl::Status formatted = Format(call, faults, claim, *record);
    return Trace("  " + (formatted.ok() ? "formatted" : MessageOf(formatted)));  // then again
  }
  if (claim.node != node) return;  // the orchestrator has given it to another node meanwhile
  const absl::Status written = Write(node, claim);
  if (!written.ok()) Trace("  " + MessageOf(written));
}

absl::Status ClusterWorld::Write(int node, Claim& claim) {
  Image* const image = Writable(node, claim);
  if (image == nullptr) return Unavailable("the device fails");
  ClusterDevice& device = devices_[node].at(claim.id.uuid);
  device.open = true;
  if (claim.spec.access_type == AccessType::kMount && !image->content.complete) {
    Fail("a formatted volume lacks its filesystem");
  }
  if (!claim.data.empty() && image->content.data != claim.data) Fail("data are lost");
  claim.data = fmt::format("data-{}", ++tokens_);
  image->content.data = claim.data;
  image->content.end = std::max(image->content.end, Chance(0.7) ? device.size : kUnit);
  return absl::OkStatus();
}

void ClusterWorld::Unstage(int node, Claim& claim) {
  Trace(fmt::format("node {}: unstage {}", node, claim.spec.name));
  devices_[node].erase(claim.id.uuid);
  const auto entry = cluster_.records.find(claim.id.uuid);
  if (entry != cluster_.records.end() && entry->second.holder == node) {
    entry->second.holder = -1;
    ++entry->second.nodes_version;
  }
  claim.node = -1;
}

void ClusterWorld::Repair(NodeFaults& faults, Claim& claim) {
  Call call(*this, faults);
  if (!call.volumes.FindLeftover(claim.id.uuid)) return;
  Trace(fmt::format("node {}: repair {}", faults.node(), claim.spec.name));
  (void)call.volumes.Repair(claim.id);
}

// Without faults, and after a long time, everything comes to rest.
void ClusterWorld::Quiesce() {
  if (!problem_.empty()) return;
  quiet_ = true;
  Trace("no more faults");
  alive_.assign(kNodes, true);
  for (Claim& claim : claims_) {
    for (int node = 0; node < kNodes; ++node) {
      if (claim.node != node) devices_[node].erase(claim.id.uuid);  // as its kubelet does
    }
    virtual_now += absl::Hours(1);
    NodeFaults faults(*this, 0);
    for (int step = 0; step < kRepairs; ++step) Repair(faults, claim);  // of a copy
  }
  CheckAtRest();
}

void ClusterWorld::Check() {
  if (!problem_.empty()) return;
  Observe();
  for (const Claim& claim : claims_) CheckClaim(claim);
}

void ClusterWorld::CheckClaim(const Claim& claim) {
  for (const ClusterDevices& devices : devices_) {
    const auto device = devices.find(claim.id.uuid);
    if (device == devices.end() || !device->second.open || device->second.fenced) continue;
    if (claim.deleting) continue;
    const auto image = cluster_.images.find(device->second.image);
    if (image == cluster_.images.end()) return Fail("an image that a device shows is gone");
    if (image->second.image.size < device->second.size) {
      return Fail("bytes that a device shows were cut off");
    }
  }
  if (!claim.created || claim.deleting) return;
  const auto entry = cluster_.records.find(claim.id.uuid);
  if (entry == cluster_.records.end()) return Fail(claim.spec.name + " is gone");
  const auto record = pool::DecodeRecord(entry->second.record);
  if (!record.ok() || !pool::IsUsable(record->volume.state)) {
    return Fail(claim.spec.name + " has no usable record");
  }
  const auto image = cluster_.images.find(record->image_name);
  if (image == cluster_.images.end()) return Fail(claim.spec.name + " has lost its image");
  if (image->second.id != record->image_id) return Fail(claim.spec.name + " has another image");
  const Bytes recorded = std::max(record->volume.capacity_bytes, record->grow_to_bytes);
  const Bytes size = image->second.image.size;
  if (recorded < claim.size || size < claim.size) {
    return Fail(claim.spec.name + " is smaller than its caller was told");
  }
  if (size < record->volume.capacity_bytes || size > recorded) {
    return Fail(claim.spec.name + " has another size than its record says");
  }
  if (!claim.data.empty() && image->second.image.content.data != claim.data) {
    return Fail(claim.spec.name + " has lost its data");
  }
  const Image& bytes = image->second.image;
  if (!bytes.mark.empty() && (bytes.content.filesystem != bytes.mark || !bytes.content.complete)) {
    return Fail(claim.spec.name + " is marked with a filesystem that it does not hold");
  }
  if (record->volume.state == VolumeState::kFormatted &&
      image->second.image.mark != record->volume.filesystem_uuid) {
    Fail(claim.spec.name + " is recorded as formatted before its image is marked");
  }
}

void ClusterWorld::CheckAtRest() {
  if (!problem_.empty()) return;
  Check();
  std::size_t named = 0;
  for (const auto& [uuid, entry] : cluster_.records) {
    const auto record = pool::DecodeRecord(entry.record);
    if (!record.ok()) return Fail("a record is damaged");
    if (!pool::IsUsable(record->volume.state)) return Fail("a volume is left half done");
    if (record->grow_to_bytes != 0) return Fail("a growth is left half done");
    if (record->copy) return Fail("a copy is left half done");
    ++named;
  }
  const bool undisturbed = error_rate_ == 0 && kill_rate_ == 0 && outage_rate_ == 0;
  if (undisturbed && cluster_.images.size() != named) Fail("an image is left that no record names");
  for (const auto& [name, stored] : cluster_.images) {
    const bool is_named = std::ranges::any_of(cluster_.records, [&](const auto& record) {
      const auto decoded = pool::DecodeRecord(record.second.record);
      return decoded.ok() && decoded->image_name == name;
    });
    if (!is_named && !stored.image.content.data.empty()) {
      Fail("an image with a user's data is left that no record names");
    }
  }
}

}  // namespace holdfast::simulator
