// SPDX-License-Identifier: Apache-2.0
// The volume directories of a file pool: records on disk, an index of them in memory for lists.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/mutex.h"
#include "pool/volume_record.h"

namespace holdfast::file {

// Thread-safe; for one uuid, callers serialise (KeyLock). The directory descriptors are those of a
// VerifiedPool. The disk is authoritative: Read always reads it; only List answers from memory.
class RecordStore final {
 public:
  // The record of `uuid`; sets nothing but the uuid of volume.id. Needs no serialising: what it
  // reads may be outdated at once, so it is never entered into the list.
  // NOT_FOUND if there is no such volume directory; INTERNAL if its record is damaged.
  // A directory without a record is an unfinished creation: state allocating, nothing else known.
  [[nodiscard]] static absl::StatusOr<pool::VolumeRecord> Read(int volumes_fd,
                                                               const std::string& uuid);

  // Makes the record durable (and the directory, if it is new; its name becomes durable with the
  // caller's sync of volumes_fd). After an error the list has the record that is on the disk.
  [[nodiscard]] absl::Status Write(int volumes_fd, const pool::VolumeRecord& record);

  // Puts a volume that was found on disk into the list, if it is usable or undecided.
  void Remember(const Volume& volume);

  // Takes the volume out of the list: its directory has gone.
  void Forget(const std::string& uuid);

  // True if the volume is in the list.
  [[nodiscard]] bool Lists(const std::string& uuid) const;

  // Names of all volume directories.
  [[nodiscard]] static absl::StatusOr<std::vector<std::string>> Uuids(int directory_fd);

  // Up to `limit` (0: all) usable volumes or snapshots after `after_uuid`, by uuid; no volumes that
  // are still being copied.
  [[nodiscard]] std::vector<Volume> List(VolumeRole role, const std::string& after_uuid,
                                         std::size_t limit) const;
  [[nodiscard]] std::size_t Count(VolumeRole role) const;
  // The UUIDs of what is in state copying with this source.
  [[nodiscard]] std::vector<std::string> CopiesUnderWay(const ContentSource& source) const;
  // Snapshots in state cut, which no list has.
  [[nodiscard]] std::vector<Volume> Undecided() const;
  // The UUIDs of the volumes in state copying.
  [[nodiscard]] std::vector<std::string> VolumesUnderWay() const;
  // The UUIDs of all usable volumes, and of those that usable or undecided snapshots are of.
  [[nodiscard]] std::set<std::string> VolumesOfAnyUse() const;
  // Whether a usable volume or snapshot is a copy.
  [[nodiscard]] bool HasCopies() const;

 private:
  // A key beside the volume would cost every volume another tenth of its memory.
  struct ByUuid {
    using is_transparent = void;
    bool operator()(const Volume& a, const Volume& b) const { return a.id.uuid < b.id.uuid; }
    bool operator()(const Volume& a, std::string_view b) const { return a.id.uuid < b; }
    bool operator()(std::string_view a, const Volume& b) const { return a < b.id.uuid; }
  };
  using Index = std::set<Volume, ByUuid>;

  void Erase(Index& index, const std::string& uuid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EraseUndecided(const std::string& uuid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  // Usable ones.
  Index volumes_ ABSL_GUARDED_BY(mutex_);
  Index snapshots_ ABSL_GUARDED_BY(mutex_);
  Index undecided_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> copying_ ABSL_GUARDED_BY(mutex_);  // uuids, of both
  std::size_t copies_ ABSL_GUARDED_BY(mutex_) = 0;         // among both
};

}  // namespace holdfast::file
