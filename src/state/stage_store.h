// SPDX-License-Identifier: Apache-2.0
// How each volume of this node is staged and published: one small file per staged volume.
//
// The kernel's mount table says that something is mounted; this says what was asked for (access
// mode, flags), which a repeated call must be compared with, and it is the only trace of a raw
// block volume that is staged but not published. A reboot undoes every staging, so records of
// another boot do not count, and writing them needs no fsync: a killed process loses nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/volume.h"
#include "os/unique_fd.h"

namespace holdfast::state {

struct Publication {
  AccessMode access_mode = AccessMode::kSingleNodeWriter;
  bool read_only = false;
  std::vector<std::string> mount_flags;
  // "NAMESPACE/NAME", for people; empty: the CO did not say, as before podInfoOnMount.
  std::string pod = {};

  // Whether both are published in the same way, for whichever pod.
  [[nodiscard]] bool IsLike(const Publication& other) const {
    return access_mode == other.access_mode && read_only == other.read_only &&
           mount_flags == other.mount_flags;
  }

  friend bool operator==(const Publication&, const Publication&) = default;
};

struct StageRecord {
  std::string volume_id;
  std::string staging_path;
  AccessMode access_mode = AccessMode::kSingleNodeWriter;
  std::vector<std::string> mount_flags;
  bool growing = false;   // its filesystem is being grown, or a kill interrupted that
  bool freezing = false;  // and the driver has frozen it, or was about to
  std::map<std::string, Publication> publications;  // by target path
};

// What is known of a volume's staging.
enum class StageState {
  kNone,       // no file: not staged since the last boot, according to the records
  kCurrent,    // Find returns it
  kOtherBoot,  // the reboot undid it
  kDamaged,    // staged or not: its file does not say
};

// Thread-safe; for one volume, callers serialise (KeyLock).
class StageStore final {
 public:
  // Keeps the records in the open `directory`.
  [[nodiscard]] static absl::StatusOr<StageStore> Open(os::UniqueFd directory);

  // The kernel's name for this boot of this machine; no other boot or machine has it.
  [[nodiscard]] const std::string& boot_id() const { return boot_id_; }

  // The record of a volume staged since the last boot. NOT_FOUND if there is none, also when its
  // file is damaged: callers then use the mount table.
  [[nodiscard]] absl::StatusOr<StageRecord> Find(const std::string& volume_id) const;

  // What Find returns, for callers that must not treat a damaged or unreadable file as missing.
  // INTERNAL if it cannot be read.
  [[nodiscard]] absl::StatusOr<StageState> StateOf(const std::string& volume_id) const;

  // The volumes that have a record, whatever is in it. Files of other names are ignored.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> VolumeIds() const;

  [[nodiscard]] absl::Status Write(const StageRecord& record) const;

  // Removes the record: the volume is not staged any more. OK if there is none.
  [[nodiscard]] absl::Status Remove(const std::string& volume_id) const;

 private:
  struct Loaded {
    StageState state = StageState::kNone;
    StageRecord record{};  // of kCurrent
  };
  [[nodiscard]] absl::StatusOr<Loaded> Load(const std::string& volume_id) const;

  StageStore(os::UniqueFd directory, std::string boot_id)
      : directory_(std::move(directory)), boot_id_(std::move(boot_id)) {}
  os::UniqueFd directory_;
  std::string boot_id_;
};

}  // namespace holdfast::state
