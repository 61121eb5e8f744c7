// SPDX-License-Identifier: Apache-2.0
// The promises of docs/on-disk.md, checked in memory.
#include <fmt/format.h>

#include <algorithm>

#include "simulator/world.h"

namespace holdfast::simulator {

void World::Check() {
  if (!problem_.empty()) return;
  Observe();
  for (const Claim& claim : claims_) CheckClaim(claim);
  CheckGroup(/*at_rest=*/false);
}

void World::CheckClaim(const Claim& claim) {
  const auto now = machine_.volumes.find(claim.id.uuid);
  const bool wanted = claim.created && !claim.deleting;
  if (now != machine_.volumes.end()) CheckFiles(claim, now->second->now, false);
  const auto device = machine_.devices.find(claim.id.uuid);
  if (device != machine_.devices.end() && device->second.open && wanted) {
    const auto& image = device->second.directory->now.image;
    if (image && image->size < device->second.size) Fail("bytes that a device shows were cut off");
  }
  CheckAccount(claim);
  // A record that says that the creation was not completed may remove a volume without data.
  if (!wanted || (claim.restored && claim.data.empty())) return;
  if (now == machine_.volumes.end()) return Fail(claim.spec.name + " is gone");
  const auto durable = machine_.volumes_durable.find(claim.id.uuid);
  if (durable == machine_.volumes_durable.end()) {
    return Fail(claim.spec.name + " would be gone after a power cut");
  }
  CheckFiles(claim, durable->second->durable, true);
  for (const Directory::Files* const files : {&now->second->now, &durable->second->durable}) {
    if (!files->image) return Fail(claim.spec.name + " has lost its image");
    if (!claim.data.empty() && files->image->content.data != claim.data) {
      return Fail(claim.spec.name + " has lost its data");
    }
    if (claim.restored) continue;
    if (!files->record || !pool::IsUsable(files->record->volume.state)) {
      return Fail(claim.spec.name + " has no usable record");
    }
    // A growth whose bytes are there is finished by the next call.
    const Bytes recorded =
        std::max(files->record->volume.capacity_bytes, files->record->grow_to_bytes);
    if (recorded < claim.size || files->image->size < claim.size) {
      return Fail(claim.spec.name + " is smaller than its caller was told");
    }
  }
}

// Between calls, provisioned space is accounted for, unless an error prevented a call from doing
// so.
void World::CheckAccount(const Claim& claim) {
  if (!counted_ || dead_ || error_rate_ > 0 || claim.locked || claim.restored) return;
  const auto found = machine_.volumes.find(claim.id.uuid);
  if (found == machine_.volumes.end() || !found->second->now.record) return;
  const pool::VolumeRecord& record = *found->second->now.record;
  const Volume& volume = record.volume;
  if (!pool::IsUsable(volume.state)) return;
  const auto& image = found->second->now.image;
  // A complete copy whose record is not up to date is counted by its size until it is completed.
  if (volume.state == VolumeState::kCopying && image && image->copied) return;
  const Bytes promised = PromisedTo(record, image ? &*image : nullptr);
  if (process_->ledger.ProvisionedTo(claim.id.uuid, volume.provisioning) != promised) {
    Fail(claim.spec.name + " is not accounted as its record has it");
  }
}

// Conditions for the files of every volume, whether or not its caller knows it.
void World::CheckFiles(const Claim& claim, const Directory::Files& files, bool durable) {
  if (!files.record || claim.restored) return;
  const Volume& volume = files.record->volume;
  if (!pool::IsUsable(volume.state)) return;
  const std::string name = claim.spec.name + (durable ? " after a power cut" : "");
  if (!files.image) return Fail(name + " has a usable record and no image");
  if (files.image->size > std::max(volume.capacity_bytes, files.record->grow_to_bytes)) {
    Fail(name + " has more bytes than its record says");
  }
  if (files.image->size < volume.capacity_bytes)
    Fail(name + " has less bytes than its record says");
  if (volume.provisioning == Provisioning::kThick && !claim.is_snapshot() &&
      files.image->allocated < volume.capacity_bytes) {
    Fail(name + " is not thick");
  }
  if (volume.state == VolumeState::kFormatted && files.image->mark != volume.filesystem_uuid) {
    Fail(name + " is recorded as formatted before its image is marked");
  }
  if (volume.state == VolumeState::kReady && !files.image->mark.empty()) {
    Fail(name + " is recorded as never formatted, and marked");
  }
  if (claim.is_copy() && !claim.is_snapshot() && !claim.tainted &&
      volume.state == VolumeState::kReady && files.image->content.complete) {
    Fail(name + " holds a copied filesystem, and is recorded as never formatted");
  }
}

void World::CheckAtRest() {
  if (!problem_.empty()) return;
  Check();
  CheckGroup(/*at_rest=*/true);
  Bytes thick = 0;
  Bytes thin = 0;
  for (const Claim& claim : claims_) {
    if (claim.restored) return;  // it may need an administrator
  }
  if (!machine_.trash.empty()) Fail("the trash is not empty");
  for (const auto& [uuid, directory] : machine_.volumes) {
    if (!directory->now.record) return Fail("a directory without a record is left");
    const pool::VolumeRecord& record = *directory->now.record;
    if (!pool::IsUsable(record.volume.state)) return Fail("a volume is left half done");
    if (record.grow_to_bytes != 0) return Fail("a growth is left half done");
    if (record.copy && !MayBeLeft(record)) return Fail("a copy is left half done");
    if (!process_->listed.contains(uuid)) return Fail("a volume is not listed");
    const bool is_thick = record.volume.provisioning == Provisioning::kThick;
    const auto& image = directory->now.image;
    (is_thick ? thick : thin) += PromisedTo(record, image ? &*image : nullptr);
  }
  const pool::Ledger& ledger = process_->ledger;
  if (ledger.Provisioned(Provisioning::kThick) != thick ||
      ledger.Provisioned(Provisioning::kThin) != thin) {
    Fail(fmt::format("the ledger has {} thick and {} thin, the records {} and {}",
                     ledger.Provisioned(Provisioning::kThick),
                     ledger.Provisioned(Provisioning::kThin), thick, thin));
  }
}

}  // namespace holdfast::simulator
