// SPDX-License-Identifier: Apache-2.0
#include "pool/ledger.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace holdfast::pool {
namespace {

Bytes UnallocatedOf(Bytes provisioned, Bytes allocated) {
  return std::max<Bytes>(0, provisioned - allocated);
}

Bytes Scale(Bytes value, double factor) {
  const double scaled = static_cast<double>(value) * factor;
  return scaled >= 0x1p62 ? Bytes{1} << 62 : static_cast<Bytes>(std::floor(scaled));
}

}  // namespace

Ledger::Reservation::Reservation(Reservation&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)),
      uuid_(std::move(other.uuid_)),
      increment_(other.increment_) {}

Ledger::Reservation::~Reservation() {
  if (ledger_ == nullptr) return;
  const MutexLock lock(ledger_->mutex_);
  const auto found = ledger_->entries_.find(uuid_);
  if (found == ledger_->entries_.end()) return;  // the volume is gone, and its reservation with it
  Entry entry = found->second;
  entry.provisioned -= increment_;
  ledger_->Change(uuid_, entry.provisioned > 0 ? std::optional(entry) : std::nullopt);
}

absl::StatusOr<Ledger::Reservation> Ledger::Reserve(const std::string& uuid,
                                                    Provisioning provisioning, Bytes increment,
                                                    const MeasureRoom& measure_room,
                                                    const MeasureAllocated& measure_allocated) {
  {
    const MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(const Room room, measure_room());
    // Without a fresh count, thin volumes are taken to be empty: then a yes is certain to be right.
    if (increment <=
        RoomLeft(provisioning, room, totals_.thick_unallocated, totals_.thin_provisioned)) {
      return Provision(uuid, provisioning, increment);
    }
  }
  Recount(measure_allocated);
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const Room room, measure_room());
  const Bytes left =
      RoomLeft(provisioning, room, totals_.thick_unallocated, totals_.thin_unallocated);
  if (increment <= left) return Provision(uuid, provisioning, increment);
  return Refusal(provisioning, increment, room, std::max<Bytes>(0, left));
}

void Ledger::Set(const std::string& uuid, Provisioning provisioning, Bytes provisioned,
                 Bytes allocated) {
  const MutexLock lock(mutex_);
  Change(uuid,
         Entry{.provisioning = provisioning, .provisioned = provisioned, .allocated = allocated});
}

void Ledger::Remove(const std::string& uuid) {
  const MutexLock lock(mutex_);
  Change(uuid, std::nullopt);
}

void Ledger::Rename(const std::string& from, const std::string& to) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(from);
  if (found == entries_.end()) return;
  const Entry entry = found->second;
  Change(from, std::nullopt);
  Change(to, entry);
}

bool Ledger::WouldFitWithout(const std::vector<std::string>& uuids, Provisioning provisioning,
                             Bytes increment, Room room) const {
  const MutexLock lock(mutex_);
  Totals rest = totals_;
  for (const std::string& uuid : uuids) {
    const auto found = entries_.find(uuid);
    if (found == entries_.end()) continue;
    const Entry& entry = found->second;
    const bool thick = entry.provisioning == Provisioning::kThick;
    (thick ? rest.thick_unallocated : rest.thin_unallocated) -=
        UnallocatedOf(entry.provisioned, entry.allocated);
    room.available += entry.allocated;
  }
  return increment <= RoomLeft(provisioning, room, rest.thick_unallocated, rest.thin_unallocated);
}

void Ledger::Recount(const MeasureAllocated& measure) {
  std::vector<std::pair<std::string, std::uint64_t>> seen;
  {
    const MutexLock lock(mutex_);
    for (const auto& [uuid, entry] : entries_) seen.emplace_back(uuid, entry.change);
  }
  for (const auto& [uuid, change] : seen) {
    const std::optional<Bytes> allocated = measure(uuid);
    const MutexLock lock(mutex_);
    const auto found = entries_.find(uuid);
    if (!allocated || found == entries_.end()) continue;
    // Measured before the entry was what it is now, or even another volume of the same name.
    if (found->second.change != change) continue;
    Entry entry = found->second;
    entry.allocated = *allocated;
    Change(uuid, entry);
  }
}

Bytes Ledger::LargestReservation(Provisioning provisioning, const Room& room) const {
  const MutexLock lock(mutex_);
  const Bytes left =
      RoomLeft(provisioning, room, totals_.thick_unallocated, totals_.thin_unallocated);
  return AlignDown(std::max<Bytes>(0, left), kVolumeGranularity);
}

Bytes Ledger::Provisioned(Provisioning provisioning) const {
  const MutexLock lock(mutex_);
  return provisioning == Provisioning::kThick ? totals_.thick_provisioned
                                              : totals_.thin_provisioned;
}

Bytes Ledger::Unallocated(Provisioning provisioning) const {
  const MutexLock lock(mutex_);
  return provisioning == Provisioning::kThick ? totals_.thick_unallocated
                                              : totals_.thin_unallocated;
}

Bytes Ledger::ProvisionedTo(const std::string& uuid, Provisioning provisioning) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(uuid);
  const bool known = found != entries_.end() && found->second.provisioning == provisioning;
  return known ? found->second.provisioned : 0;
}

Bytes Ledger::AllocatedTo(const std::string& uuid) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(uuid);
  return found == entries_.end() ? 0 : found->second.allocated;
}

Bytes Ledger::LackingTo(const std::string& uuid) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(uuid);
  if (found == entries_.end()) return 0;
  return UnallocatedOf(found->second.provisioned, found->second.allocated);
}

Bytes Ledger::ReserveOf(const Room& room) const {
  return std::max(policy_.reserve_bytes, Scale(room.total, policy_.reserve_fraction));
}

Ledger::Reservation Ledger::Provision(const std::string& uuid, Provisioning provisioning,
                                      Bytes increment) {
  const auto found = entries_.find(uuid);
  Entry entry = found == entries_.end() ? Entry{.provisioning = provisioning} : found->second;
  entry.provisioned += increment;
  Change(uuid, entry);
  return Reservation(this, uuid, increment);
}

absl::Status Ledger::Refusal(Provisioning provisioning, Bytes increment, const Room& room,
                             Bytes left) const {
  const double used = room.total == 0 ? 1.0
                                      : static_cast<double>(room.total - room.available) /
                                            static_cast<double>(room.total);
  if (provisioning == Provisioning::kThin && used > policy_.watermark) {
    return ResourceExhausted(
        "no more thin space is provisioned while the filesystem is {:.0f} % full (watermark {:.0f} "
        "%)",
        used * 100, policy_.watermark * 100);
  }
  return ResourceExhausted("{} more of {} space does not fit; {} can still be provisioned",
                           FormatBytes(increment), ToString(provisioning), FormatBytes(left));
}

void Ledger::Change(const std::string& uuid, const std::optional<Entry>& entry) {
  const auto found = entries_.find(uuid);
  if (found != entries_.end()) {
    Account(found->second, -1);
    entries_.erase(found);
  }
  if (!entry) return;
  Account(*entry, +1);
  entries_.emplace(uuid, *entry).first->second.change = ++changes_;
}

void Ledger::Account(const Entry& entry, int sign) {
  const Bytes unallocated = UnallocatedOf(entry.provisioned, entry.allocated);
  const bool thick = entry.provisioning == Provisioning::kThick;
  (thick ? totals_.thick_provisioned : totals_.thin_provisioned) += sign * entry.provisioned;
  (thick ? totals_.thick_unallocated : totals_.thin_unallocated) += sign * unallocated;
}

// How many more bytes of that kind fit; negative when what is provisioned exceeds the room.
Bytes Ledger::RoomLeft(Provisioning provisioning, const Room& room, Bytes thick_unallocated,
                       Bytes thin_unallocated) const {
  const Bytes left = room.available - ReserveOf(room) - thick_unallocated;
  if (provisioning == Provisioning::kThick) {
    return left - Scale(thin_unallocated, 1 / policy_.overcommit);
  }
  const Bytes limit = Scale(room.total, policy_.watermark);
  if (room.total - room.available > limit) return 0;
  return Scale(left, policy_.overcommit) - thin_unallocated;
}

}  // namespace holdfast::pool
