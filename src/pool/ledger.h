// SPDX-License-Identifier: Apache-2.0
// What a pool has promised, and whether it can promise more. Pure arithmetic under one short lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/mutex.h"
#include "core/volume.h"
#include "pool/space_policy.h"

namespace holdfast::pool {

// The filesystem's room at one moment, in bytes.
struct Room {
  Bytes total = 0;
  Bytes available = 0;
};

// The rule. A volume's debt is what it was promised and has not been allocated yet. A promise of R
// more bytes is made only if, with A = available - reserve:
//   thick:  R + thick debt + thin debt / overcommit   <= A
//   thin:   thick debt + (thin debt + R) / overcommit <= A   and the filesystem is below the
//           watermark
// Create, grow and whatever else draws space go through Reserve; the ledger is rebuilt from records
// at start. Thread-safe.
class Ledger final {
 public:
  // Tells how many bytes a volume has allocated; nothing if it cannot be known now.
  using MeasureAllocated = std::function<std::optional<Bytes>(const std::string& uuid)>;
  // Reads the filesystem's room now. Short: it is called with the lock held, because a figure that
  // is older than the promises it is compared with would count the same bytes twice.
  using MeasureRoom = std::function<absl::StatusOr<Room>()>;

  explicit Ledger(const SpacePolicy& policy) : policy_(policy) {}

  // A promise in the making: released when it is destroyed, unless kept.
  class [[nodiscard]] Grant final {
   public:
    Grant(Grant&& other) noexcept;
    Grant& operator=(Grant&&) = delete;
    ~Grant();
    // The promise stands.
    void Keep() { ledger_ = nullptr; }

   private:
    friend class Ledger;
    Grant(Ledger* ledger, std::string uuid, Bytes increment)
        : ledger_(ledger), uuid_(std::move(uuid)), increment_(increment) {}
    Ledger* ledger_;
    std::string uuid_;
    Bytes increment_;
  };

  // Promises `increment` more bytes to the volume. RESOURCE_EXHAUSTED otherwise, with the figures;
  // what `measure_room` says if it fails. `measure_allocated` is asked about every volume, without
  // the lock held, before anything is refused.
  [[nodiscard]] absl::StatusOr<Grant> Reserve(const std::string& uuid, Provisioning provisioning,
                                              Bytes increment, const MeasureRoom& measure_room,
                                              const MeasureAllocated& measure_allocated);

  // States what is true of a volume now: at start, and when its allocation is done.
  void Set(const std::string& uuid, Provisioning provisioning, Bytes promised, Bytes allocated);
  // A volume that is gone.
  void Remove(const std::string& uuid);

  // Takes stock of what is allocated.
  void Recount(const MeasureAllocated& measure);

  // The largest promise that Reserve would make now, a multiple of kVolumeGranularity.
  [[nodiscard]] Bytes LargestPromise(Provisioning provisioning, const Room& room) const;

  [[nodiscard]] Bytes Promised(Provisioning provisioning) const;
  // To one volume; 0 if the ledger does not know it, or not as a volume of this provisioning.
  [[nodiscard]] Bytes PromisedTo(const std::string& uuid, Provisioning provisioning) const;
  [[nodiscard]] Bytes ReserveOf(const Room& room) const;

 private:
  struct Entry {
    Provisioning provisioning = Provisioning::kThick;
    Bytes promised = 0;
    Bytes allocated = 0;
    std::uint64_t change = 0;  // the number of the last Change
  };
  struct Totals {
    Bytes thick_provisioned = 0;
    Bytes thick_debt = 0;
    Bytes thin_provisioned = 0;
    Bytes thin_debt = 0;
  };

  Grant Promise(const std::string& uuid, Provisioning provisioning, Bytes increment)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] absl::Status Refusal(Provisioning provisioning, Bytes increment, const Room& room,
                                     Bytes left) const;
  void Change(const std::string& uuid, const std::optional<Entry>& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Account(const Entry& entry, int sign) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] Bytes RoomLeft(Provisioning provisioning, const Room& room, Bytes thin_debt) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SpacePolicy policy_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by uuid
  Totals totals_ ABSL_GUARDED_BY(mutex_);                         // sums over entries_
  std::uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::pool
