// SPDX-License-Identifier: Apache-2.0
#include "pool/trash.h"

#include <algorithm>
#include <utility>

#include "core/trash_id.h"

namespace holdfast::pool {
namespace {

using std::chrono::seconds;

// While an entry is kept its record is written sixteen times, or every hour where that is more
// often: so much a kill can cost.
constexpr int kNotes = 16;
constexpr seconds kLongestUnnoted = std::chrono::hours(1);

}  // namespace

Trash::Claim::Claim(Claim&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), key_(std::move(other.key_)) {}

Trash::Claim::~Claim() {
  if (owner_ == nullptr) return;
  const MutexLock lock(owner_->mutex_);
  owner_->claimed_.erase(key_);
}

absl::StatusOr<Trash::Claim> Trash::TryClaim(const std::string& key) {
  const MutexLock lock(mutex_);
  if (claimed_.insert(key).second) return Claim(this, key);
  return Aborted("entry {} of the trash is being restored or purged; try again", key);
}

void Trash::Set(const VolumeRecord& record, Bytes allocated) {
  const MutexLock lock(mutex_);
  entries_.insert_or_assign(record.trashed->key,
                            Known{record, allocated, record.trashed->kept, now_()});
}

void Trash::Refresh(const VolumeRecord& record) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(record.trashed->key);
  if (found == entries_.end()) return;
  Known& known = found->second;
  if (known.record.trashed->deletion != record.trashed->deletion) {
    entries_.erase(found);
    return;
  }
  if (record.trashed->kept > EntryOf(known).kept) {
    known.kept_before = record.trashed->kept;
    known.since = now_();
  }
  known.record = record;
}

void Trash::Remove(const std::string& key) {
  const MutexLock lock(mutex_);
  entries_.erase(key);
}

std::optional<Trash::Entry> Trash::Find(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? std::nullopt : std::optional(EntryOf(found->second));
}

std::vector<Trash::Entry> Trash::List() const {
  const MutexLock lock(mutex_);
  std::vector<Entry> entries;
  for (const auto& [key, known] : entries_) entries.push_back(EntryOf(known));
  return entries;
}

// By the clock of the deletions: those that were kept longest come first also after a restart.
std::vector<std::string> Trash::Oldest() const {
  std::vector<std::pair<absl::Time, std::string>> by_time;
  {
    const MutexLock lock(mutex_);
    for (const auto& [key, known] : entries_) by_time.emplace_back(TimeOfTrashKey(key), key);
  }
  std::ranges::sort(by_time);
  std::vector<std::string> keys;
  for (auto& [time, key] : by_time) keys.push_back(std::move(key));
  return keys;
}

bool Trash::IsDue(const Entry& entry) { return entry.kept >= entry.record.trashed->keep; }

bool Trash::IsNoteDue(const Entry& entry) {
  const Trashed& trashed = *entry.record.trashed;
  const seconds unnoted = entry.kept - trashed.kept;
  return unnoted.count() > 0 && unnoted >= std::min(trashed.keep / kNotes, kLongestUnnoted);
}

std::size_t Trash::Count() const {
  const MutexLock lock(mutex_);
  return entries_.size();
}

Bytes Trash::Allocated() const {
  const MutexLock lock(mutex_);
  Bytes sum = 0;
  for (const auto& [key, known] : entries_) sum += known.allocated;
  return sum;
}

bool Trash::HasCopies() const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(
      entries_, [](const auto& entry) { return entry.second.record.volume.source.has_value(); });
}

Trash::Entry Trash::EntryOf(const Known& known) const {
  const auto seen = std::chrono::duration_cast<seconds>(now_() - known.since);
  return {.record = known.record, .allocated = known.allocated, .kept = known.kept_before + seen};
}

}  // namespace holdfast::pool
