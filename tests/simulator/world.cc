// SPDX-License-Identifier: Apache-2.0
#include "simulator/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "simulator/world_call.h"

namespace holdfast::simulator {
namespace {

constexpr int kEpisodes = 4;  // processes in a schedule
constexpr int kFibers = 3;
constexpr int kActs = 3;  // of a fiber, for each name
constexpr int kRepairs = 8;
constexpr Bytes kUnit = kVolumeGranularity;

}  // namespace

std::string UuidOf(std::uint64_t high, std::uint64_t low) {
  return fmt::format("{:08x}-0000-4000-8000-{:012x}", high & 0xffffffff, low);
}

World::World(std::uint64_t seed, bool trace) : random_(seed), trace_(trace) {
  virtual_now = absl::FromUnixSeconds(1'800'000'000);
  policy_ = {.reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1};
  const auto rate = [&](std::initializer_list<double> rates) {
    return *(rates.begin() + random_() % rates.size());
  };
  error_rate_ = rate({0, 0.01, 0.05, 0.2});
  kill_rate_ = rate({0, 0.005, 0.02, 0.05});
  power_rate_ = rate({0, 0.005, 0.02, 0.05});
  backup_rate_ = rate({0, 0, 0.1, 0.3});
  machine_.total = Chance(0.5) ? 16 * kUnit : 64 * kUnit;
  for (std::uint64_t i = 0; i < 2; ++i) {
    Claim claim;
    claim.id = VolumeId{"p", "n", UuidOf(i + 1, seed)};
    claim.spec.name = fmt::format("pvc-{}", i);
    claim.spec.capacity.required = SomeSize();
    claim.spec.provisioning = Chance(0.5) ? Provisioning::kThick : Provisioning::kThin;
    claim.spec.access_type = Chance(0.7) ? AccessType::kMount : AccessType::kBlock;
    if (claim.spec.access_type == AccessType::kMount) claim.spec.filesystem = "ext4";
    claims_.push_back(std::move(claim));
  }
  if (Chance(0.5)) AddCopies(seed);
  if (Chance(0.3)) AddGroup(seed);
}

bool World::Chance(double probability) {
  return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

Bytes World::SomeSize() { return static_cast<Bytes>(1 + random_() % 6) * kUnit; }

void World::Trace(const std::string& line) const {
  if (trace_) fmt::print("{}\n", line);
}

void World::Fail(std::string what) {
  if (problem_.empty()) {
    problem_ = std::move(what);
    Trace("!! " + problem_);
  }
}

Fault World::At(const char* name, const std::string& uuid) {
  if (fibers_ != nullptr) fibers_->Yield();
  if (dead_) throw Killed();
  if (Chance(0.002)) virtual_now += absl::Minutes(40);
  Check();
  Fault fault = Fault::kNone;
  if (!quiet_) {
    if (Chance(error_rate_)) fault = Chance(0.5) ? Fault::kError : Fault::kErrorDone;
    if (Chance(kill_rate_)) fault = Chance(0.5) ? Fault::kKill : Fault::kKillDone;
    if (Chance(power_rate_)) fault = Chance(0.5) ? Fault::kPower : Fault::kPowerDone;
  }
  constexpr const char* kNames[] = {"",           "error", "error, done", "kill",
                                    "kill, done", "power", "power, done"};
  Trace(fmt::format("  {} {} {}", uuid.substr(0, 8), name, kNames[static_cast<int>(fault)]));
  return fault;
}

void World::After(Fault fault) {
  if (fault == Fault::kPower || fault == Fault::kPowerDone) machine_.LosePower();
  if (fault == Fault::kNone || fault == Fault::kError || fault == Fault::kErrorDone) return;
  dead_ = true;
  throw Killed();
}

bool World::Run() {
  for (int i = 0; i < kEpisodes && problem_.empty(); ++i) {
    if (dead_ || Chance(0.5)) StartProcess();
    if (!dead_) RunCalls();
    for (Claim& claim : claims_) {
      if (Chance(backup_rate_)) RestoreBackup(claim);
    }
  }
  Quiesce();
  return problem_.empty();
}

void World::RunCalls() {
  Fibers fibers(random_);
  fibers_ = &fibers;
  for (int i = 0; i < kFibers; ++i) {
    const bool reconciler = i == 0;
    fibers.Add([this, reconciler] {
      try {
        reconciler ? Reconcile() : ActAsOrchestrator();
      } catch (const Killed&) {
      }
    });
  }
  fibers.Run();
  fibers_ = nullptr;
  Check();
}

void World::StartProcess() {
  dead_ = false;
  counted_ = false;
  Trace("process starts");
  for (Claim& claim : claims_) claim.locked = claim.arriving = false;
  process_ = std::make_unique<Process>(policy_);
  Call call(*this);
  std::vector<std::string> uuids;
  for (const auto& [uuid, directory] : machine_.volumes) uuids.push_back(uuid);
  try {
    for (const std::string& uuid : uuids) (void)call.volumes.Count(uuid);
    counted_ = true;
  } catch (const Killed&) {  // at once
  }
}

void World::ActAsOrchestrator() {
  const int acts = kActs * static_cast<int>(claims_.size());
  for (int i = 0; i < acts && problem_.empty(); ++i) {
    Claim& claim = claims_[random_() % claims_.size()];
    if (claim.locked) continue;  // ABORTED
    claim.locked = true;
    if (claim.is_member()) {
      ActOnGroup(claim);
    } else {
      claim.is_copy() ? ActOnCopy(claim) : Act(claim);
    }
    claim.locked = false;
  }
}

void World::Act(Claim& claim) {
  ++calls_;
  if (claim.restored && claim.data.empty() && !machine_.volumes.contains(claim.id.uuid) &&
      !machine_.volumes_durable.contains(claim.id.uuid)) {
    claim.created = claim.restored = false;  // removed as an unfinished creation
    claim.size = 0;
    claim.backups.clear();
  }
  if (claim.deleting) return Chance(0.2) ? Unstage(claim) : Delete(claim);
  if (!claim.created) return Chance(0.85) ? Create(claim) : Delete(claim);
  switch (random_() % 8) {
    case 0:
      return Create(claim);  // repeated
    case 1:
    case 2:
      return Grow(claim);
    case 3:
      return Unstage(claim);
    case 4:
      return Chance(0.5) ? Unstage(claim) : Delete(claim);
    default:
      return Stage(claim);
  }
}

void World::Reconcile() {
  for (int round = 0; round < 3 && problem_.empty(); ++round) {
    for (Claim& claim : claims_) {
      Call call(*this);
      const bool left =
          call.volumes.FindLeftover(claim.id.uuid) || call.backend.HasDiscarded(claim.id.uuid);
      if (!left || claim.locked) continue;
      claim.locked = true;
      Trace(fmt::format("repair {}", claim.spec.name));
      for (int step = 0; step < kRepairs; ++step) {  // of a copy
        if (claim.is_member() && RepairMember(claim)) break;
        if (call.volumes.Repair(claim.id).value_or(true)) break;
      }
      claim.locked = false;
    }
    if (fibers_ != nullptr) fibers_->Yield();
    if (dead_) return;
  }
}

void World::Create(Claim& claim) {
  Trace(fmt::format("create {} {}", claim.spec.name, claim.spec.capacity.required));
  if (claim.restored && claim.data.empty()) {  // it may be removed, and made again
    claim.created = false;
    claim.size = 0;
  }
  const bool before = claim.created;
  Call call(*this);
  const auto made = call.volumes.Create(claim.spec, claim.id, 512);
  if (!made.ok()) return Trace("  " + MessageOf(made.status()));
  if (!before) {
    claim.created = true;
    claim.size = std::max(claim.size, made->volume.capacity_bytes);
    claim.backups.push_back(*made);
  }
  if (made->volume.capacity_bytes < claim.spec.capacity.required) Fail("a volume is too small");
}

void World::Delete(Claim& claim) {
  Trace(fmt::format("delete {}", claim.spec.name));
  claim.deleting = true;
  Call call(*this);
  const auto found = machine_.volumes.find(claim.id.uuid);
  const bool used_and_unfinished =
      found != machine_.volumes.end() && found->second->now.record && !claim.data.empty() &&
      found->second->now.record->volume.state == VolumeState::kAllocating;
  const absl::Status deleted = call.volumes.Delete(claim.id, claim.spec.role);
  if (!deleted.ok()) {
    if (absl::IsFailedPrecondition(deleted) && claim.created && !claim.restored) {
      claim.deleting = false;  // in use: the volume is as before
    }
    return Trace("  " + MessageOf(deleted));
  }
  if (machine_.volumes.contains(claim.id.uuid)) Fail("deleted, and still there");
  if (machine_.volumes_durable.contains(claim.id.uuid)) {
    Fail("deleted, and there again after a power cut");
  }
  if (machine_.devices.contains(claim.id.uuid)) Fail("deleted, and its device is left");
  if (used_and_unfinished) Fail("a used volume whose record is too old was deleted");
  Claim next;
  next.spec = claim.spec;
  next.id = claim.id;
  next.locked = true;
  next.arriving = claim.arriving;
  next.source = claim.source;
  next.history = claim.history;
  if (Chance(0.5)) next.backups = claim.backups;
  claim = std::move(next);
}

void World::Grow(Claim& claim) {
  const Bytes target = claim.size + SomeSize();
  Trace(fmt::format("grow {} {}", claim.spec.name, target));
  const auto found = machine_.volumes.find(claim.id.uuid);
  const bool differs =
      found != machine_.volumes.end() && found->second->now.record && found->second->now.image &&
      found->second->now.record->grow_to_bytes == 0 &&
      found->second->now.image->size != found->second->now.record->volume.capacity_bytes;
  Call call(*this);
  const auto grown = call.volumes.Grow(claim.id, target, 0);
  if (!grown.ok()) {
    if (absl::IsNotFound(grown.status()) && !claim.restored) Fail("a volume is not found");
    return Trace("  " + MessageOf(grown.status()));
  }
  if (grown->volume.capacity_bytes < target) Fail("grown, and too small");
  const Image* const image = ImageOf(claim);
  if (differs) Fail("bytes of another size than the record says were grown");
  if (image == nullptr || image->size != grown->volume.capacity_bytes) {
    Fail("grown to another size than the bytes have");
  }
  claim.size = std::max(claim.size, grown->volume.capacity_bytes);
  claim.spec.capacity.required = std::min(claim.spec.capacity.required, claim.size);
  claim.backups.push_back(*grown);
}

Image* World::ImageOf(const Claim& claim) {
  const auto found = machine_.volumes.find(claim.id.uuid);
  if (found == machine_.volumes.end() || !found->second->now.image) return nullptr;
  return &*found->second->now.image;
}

// As node/format_once.cc does it, with mkfs as two steps.
absl::Status World::Format(Call& call, Claim& claim, const pool::VolumeRecord& record,
                           Image*& image) {
  const Volume& volume = record.volume;
  const auto finish = [&](const std::string& uuid) -> absl::Status {
    if (volume.state != VolumeState::kFormatting || volume.filesystem_uuid != uuid) {
      RETURN_IF_ERROR(call.volumes.StartFormatting(claim.id, uuid));
    }
    return call.volumes.FinishFormatting(claim.id);
  };
  if (volume.state == VolumeState::kFormatting) {
    ASSIGN_OR_RETURN(const std::string mark, call.volumes.FormattedUuid(claim.id));
    if (!mark.empty()) return finish(mark);
  }
  image = ImageOf(claim);
  if (image == nullptr) return NotFound("the image went");
  if (volume.state == VolumeState::kFormatting && !image->content.data.empty()) {
    return finish(image->content.filesystem);
  }
  if (volume.state == VolumeState::kFormatting) {
    RETURN_IF_ERROR(call.volumes.Zero(claim.id));
    RETURN_IF_ERROR(call.volumes.Map(claim.id).status());
  }
  const std::string uuid = UuidOf(++tokens_, 7);
  const bool blank = image->content.end == 0 || image->content.hidden;
  const absl::Status started = blank ? call.volumes.StartFormatting(claim.id, uuid)
                                     : FailedPrecondition("the device is not blank");
  if (absl::IsFailedPrecondition(started)) {
    ASSIGN_OR_RETURN(const std::string mark, call.volumes.FormattedUuid(claim.id));
    if (!mark.empty()) return finish(mark);
  }
  RETURN_IF_ERROR(started);
  const Fault begun = At("mkfs begins", claim.id.uuid);
  image = ImageOf(claim);
  if (image == nullptr) return NotFound("the image went");
  if (image->content.end != 0) Fail("mkfs runs on bytes that are not blank");
  if (!image->mark.empty()) Fail("mkfs runs on bytes that are marked as formatted");
  image->content = {
      .filesystem = uuid, .complete = false, .data = "", .end = kUnit, .hidden = false};
  After(begun);
  if (begun != Fault::kNone) return Internal("mkfs failed");
  image->content.complete = true;
  const auto directory = machine_.volumes.at(claim.id.uuid);
  directory->SyncImage();
  RETURN_IF_ERROR(call.volumes.FinishFormatting(claim.id));
  image = ImageOf(claim);
  return absl::OkStatus();
}

void World::Stage(Claim& claim) {
  Trace(fmt::format("stage {}", claim.spec.name));
  Call call(*this);
  const auto mapped = call.volumes.Map(claim.id);
  if (!mapped.ok()) return Trace("  " + MessageOf(mapped.status()));
  const auto record = call.volumes.Get(claim.id);
  if (!record.ok()) return Trace("  " + MessageOf(record.status()));
  if (!claim.restored && mapped->size < claim.size) Fail("the device is smaller than promised");
  Image* image = ImageOf(claim);
  if (record->volume.state == VolumeState::kInherited) return Adopt(call, claim, *record);
  if (claim.spec.access_type == AccessType::kMount) {
    if (record->volume.state != VolumeState::kFormatted) {
      const absl::Status formatted = Format(call, claim, *record, image);
      if (!formatted.ok()) return Trace("  " + MessageOf(formatted));
      return;  // mounted by the next call
    }
    if (image == nullptr || image->content.filesystem != record->volume.filesystem_uuid ||
        !image->content.complete) {
      if (!claim.restored) Fail("a formatted volume lacks its filesystem");
      return;
    }
  }
  const auto device = machine_.devices.find(claim.id.uuid);
  if (device == machine_.devices.end() || image == nullptr) return;
  device->second.open = true;
  const absl::Status written = Write(claim);
  if (!written.ok()) Trace("  " + MessageOf(written));
}

// A user writes to the end of the device, and syncs.
absl::Status World::Write(Claim& claim) {
  const auto found = machine_.devices.find(claim.id.uuid);
  const Device& device = found->second;
  if (!device.directory->now.image) return NotFound("the image went");
  Image& image = *device.directory->now.image;
  if (image.size < device.size) Fail("bytes that a device shows were cut off");
  if (!claim.data.empty() && image.content.data != claim.data) Fail("data are lost");
  claim.data = fmt::format("data-{}", ++tokens_);
  image.content.data = claim.data;
  if (Chance(0.7)) image.content.end = device.size;
  image.content.end = std::max(image.content.end, kUnit);
  // A user may have removed the signature that a probe recognises.
  if (!image.mark.empty() && Chance(0.05)) image.content.hidden = true;
  image.allocated = std::max(image.allocated, image.content.end);
  device.directory->SyncImage();
  return absl::OkStatus();
}

void World::Unstage(Claim& claim) {
  Trace(fmt::format("unstage {}", claim.spec.name));
  const auto device = machine_.devices.find(claim.id.uuid);
  if (device == machine_.devices.end()) return;
  device->second.open = false;
  if (Chance(0.5)) machine_.devices.erase(device);
}

// Only the record is restored, while no process runs; a backup program may also drop the mark.
void World::RestoreBackup(Claim& claim) {
  const auto found = machine_.volumes.find(claim.id.uuid);
  if (claim.is_copy()) return;
  if (found == machine_.volumes.end() || claim.backups.empty() || claim.deleting) return;
  Directory& directory = *found->second;
  if (!directory.now.image || !directory.durable.image || !claim.created) return;
  pool::VolumeRecord record = claim.backups[random_() % claim.backups.size()];
  switch (random_() % 4) {
    case 0:
      record.volume.state = VolumeState::kAllocating;
      break;
    case 1:
      record.volume.state = VolumeState::kReady;
      break;
    case 2:
      if (claim.spec.access_type == AccessType::kBlock) break;
      record.volume.state = VolumeState::kFormatting;
      record.volume.filesystem_uuid = directory.now.image->content.filesystem;
      break;
    default:
      record.grow_to_bytes = record.volume.capacity_bytes + SomeSize();
      break;
  }
  if (record.volume.state == VolumeState::kFormatting && record.volume.filesystem_uuid.empty()) {
    record.volume.state = VolumeState::kReady;
  }
  const bool drop_mark = Chance(0.3) && !directory.now.image->content.hidden;
  if (drop_mark) directory.now.image->mark.clear();
  if (drop_mark) directory.durable.image->mark.clear();
  directory.synced_image = directory.durable.image;
  Trace(fmt::format("restore an old record of {}: {}", claim.spec.name,
                    ToString(record.volume.state)));
  directory.now.record = record;
  directory.durable.record = record;
  claim.restored = true;
  dead_ = true;
}

// Without faults, everything comes to rest.
void World::Quiesce() {
  if (!problem_.empty()) return;
  quiet_ = true;
  Trace("no more faults");
  if (dead_) StartProcess();
  RunCalls();
  virtual_now += absl::Hours(2);  // nobody wants what has not arrived
  for (Claim& claim : claims_) {
    if (claim.deleting) Delete(claim);  // as the orchestrator repeats it
    claim.locked = false;
  }
  for (int round = 0; round < 2; ++round) Reconcile();
  CheckAtRest();
}

}  // namespace holdfast::simulator
