// SPDX-License-Identifier: Apache-2.0
// The space ledger: what a pool has provisioned to its volumes, and whether more fits. Pure
// arithmetic under one short lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/volume.h"
#include "pool/space_policy.h"

namespace holdfast::pool {

// The filesystem's room at one moment, in bytes.
struct Room {
  Bytes total = 0;
  Bytes available = 0;
};

// The rule. Bytes that are provisioned to a volume and not allocated yet are unallocated. R more
// bytes are reserved only if, with A = available - reserve:
//   thick:  R + thick unallocated + thin unallocated / overcommit   <= A
//   thin:   thick unallocated + (thin unallocated + R) / overcommit <= A   and the filesystem is
//           not above the watermark
// Every step that needs space, such as creation and growth, goes through Reserve; the ledger is
// rebuilt from records at start. Thread-safe.
class Ledger final {
 public:
  // The bytes that a volume has allocated; nothing if they cannot be known now.
  using MeasureAllocated = std::function<std::optional<Bytes>(const std::string& uuid)>;
  // Reads the filesystem's room now. Short: it is called with the lock held, because a figure that
  // is older than the sums it is compared with would count the same bytes twice.
  using MeasureRoom = std::function<absl::StatusOr<Room>()>;

  explicit Ledger(const SpacePolicy& policy) : policy_(policy) {}

  // Reserved bytes: released when this is destroyed, unless they were committed.
  class [[nodiscard]] Reservation final {
   public:
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();
    // The bytes stay provisioned.
    void Commit() { ledger_ = nullptr; }

   private:
    friend class Ledger;
    Reservation(Ledger* ledger, std::string uuid, Bytes increment)
        : ledger_(ledger), uuid_(std::move(uuid)), increment_(increment) {}
    Ledger* ledger_;
    std::string uuid_;
    Bytes increment_;
  };

  // Reserves `increment` more bytes for the volume. RESOURCE_EXHAUSTED otherwise, with the figures;
  // what `measure_room` says if it fails. `measure_allocated` is asked about every volume, without
  // the lock held, before anything is refused.
  [[nodiscard]] absl::StatusOr<Reservation> Reserve(const std::string& uuid,
                                                    Provisioning provisioning, Bytes increment,
                                                    const MeasureRoom& measure_room,
                                                    const MeasureAllocated& measure_allocated);

  // States what is true of a volume now: at start, and when its allocation is done.
  void Set(const std::string& uuid, Provisioning provisioning, Bytes provisioned, Bytes allocated);
  // A volume that is gone.
  void Remove(const std::string& uuid);
  // The same volume under another name; nothing if the ledger does not know it.
  void Rename(const std::string& from, const std::string& to);

  // Whether Reserve would accept that if these volumes were gone and their bytes free.
  [[nodiscard]] bool WouldFitWithout(const std::vector<std::string>& uuids,
                                     Provisioning provisioning, Bytes increment, Room room) const;

  // Takes stock of what is allocated.
  void Recount(const MeasureAllocated& measure);

  // The largest reservation that Reserve would make now, a multiple of kVolumeGranularity.
  [[nodiscard]] Bytes LargestReservation(Provisioning provisioning, const Room& room) const;

  [[nodiscard]] Bytes Provisioned(Provisioning provisioning) const;
  // What of it is not allocated.
  [[nodiscard]] Bytes Unallocated(Provisioning provisioning) const;
  // To one volume; 0 if the ledger does not know it, or not as a volume of this provisioning.
  [[nodiscard]] Bytes ProvisionedTo(const std::string& uuid, Provisioning provisioning) const;
  // What one volume has allocated, of what is provisioned to it; 0 if the ledger does not know it.
  [[nodiscard]] Bytes AllocatedTo(const std::string& uuid) const;
  // What is provisioned to one volume and not allocated; 0 if the ledger does not know it.
  [[nodiscard]] Bytes LackingTo(const std::string& uuid) const;
  [[nodiscard]] Bytes ReserveOf(const Room& room) const;

 private:
  struct Entry {
    Provisioning provisioning = Provisioning::kThick;
    Bytes provisioned = 0;
    Bytes allocated = 0;
    std::uint64_t change = 0;  // the number of the last Change
  };
  struct Totals {
    Bytes thick_provisioned = 0;
    Bytes thick_unallocated = 0;
    Bytes thin_provisioned = 0;
    Bytes thin_unallocated = 0;
  };

  Reservation Provision(const std::string& uuid, Provisioning provisioning, Bytes increment)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] absl::Status Refusal(Provisioning provisioning, Bytes increment, const Room& room,
                                     Bytes left) const;
  void Change(const std::string& uuid, const std::optional<Entry>& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Account(const Entry& entry, int sign) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] Bytes RoomLeft(Provisioning provisioning, const Room& room, Bytes thick_unallocated,
                               Bytes thin_unallocated) const;

  const SpacePolicy policy_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by uuid
  Totals totals_ ABSL_GUARDED_BY(mutex_);                         // sums over entries_
  std::uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::pool
