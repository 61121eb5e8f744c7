// SPDX-License-Identifier: Apache-2.0
// What a process knows of its pool's trash: the entries, how long it has seen each of them, and
// which one a call is at work on.
//
// How long an entry was kept is counted by the monotonic clock, from the moment on at which this
// process has seen it, and added to what earlier processes have noted in its record. No jump of the
// wall clock changes it; what was not noted before a kill is lost, and the entry stays longer.
// Where several processes serve a pool, each counts for itself, and the longest count is right.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "pool/trash_policy.h"
#include "pool/volume_record.h"

namespace holdfast::pool {

// Thread-safe.
class Trash final {
 public:
  using Clock = std::chrono::steady_clock;

  // `now` is replaced in tests.
  explicit Trash(const TrashPolicy& policy, Clock::time_point (*now)() = Clock::now)
      : policy_(policy), now_(now) {}

  [[nodiscard]] const TrashPolicy& policy() const { return policy_; }

  // Held while an entry is changed. Must not outlive the Trash.
  class [[nodiscard]] Claim final {
   public:
    Claim(Claim&& other) noexcept;
    Claim& operator=(Claim&&) = delete;
    ~Claim();

   private:
    friend class Trash;
    Claim(Trash* owner, std::string key) : owner_(owner), key_(std::move(key)) {}
    Trash* owner_;
    std::string key_;
  };
  // ABORTED if another call is at work on the entry.
  [[nodiscard]] absl::StatusOr<Claim> TryClaim(const std::string& key);

  struct Entry {
    VolumeRecord record;  // `trashed` is set
    Bytes allocated = 0;  // that it alone has
    std::chrono::seconds kept{0};
  };

  // States what is true of an entry now. The record was read or written just now.
  void Set(const VolumeRecord& record, Bytes allocated);
  // What is stored of it now, which another process may have written. Forgets the entry, if what is
  // stored is of a later deletion.
  void Refresh(const VolumeRecord& record);
  void Remove(const std::string& key);

  // Nothing if there is none.
  [[nodiscard]] std::optional<Entry> Find(const std::string& key) const;
  [[nodiscard]] std::vector<Entry> List() const;          // by key
  [[nodiscard]] std::vector<std::string> Oldest() const;  // keys, the first deleted first

  // Whether its time is over.
  [[nodiscard]] static bool IsDue(const Entry& entry);
  // Whether so much time has passed since its record was written that it is noted there.
  [[nodiscard]] static bool IsNoteDue(const Entry& entry);

  [[nodiscard]] std::size_t Count() const;
  [[nodiscard]] Bytes Allocated() const;
  // Whether one is a copy or a snapshot, which may share its storage.
  [[nodiscard]] bool HasCopies() const;

 private:
  struct Known {
    VolumeRecord record;
    Bytes allocated = 0;
    std::chrono::seconds kept_before{0};  // before `since`
    Clock::time_point since;
  };
  [[nodiscard]] Entry EntryOf(const Known& known) const;

  const TrashPolicy policy_;
  Clock::time_point (*const now_)();
  mutable Mutex mutex_;
  std::map<std::string, Known> entries_ ABSL_GUARDED_BY(mutex_);  // by key
  std::set<std::string> claimed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::pool
