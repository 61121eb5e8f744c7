// SPDX-License-Identifier: Apache-2.0
// The durable record of a volume: schema, text form and checks. docs/on-disk.md describes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/volume.h"

namespace holdfast::pool {

// How far a copy has come that is made in steps.
struct CopyProgress {
  Bytes data_bytes = 0;  // the source's bytes without its holes: what the copy needs at most
  Bytes copied_to = 0;   // everything before this offset is copied, durably
  // What shows that the source has not changed since the copy began (VolumeBackend::PlanCopy,
  // Content::version).
  // Empty: it needs no source any more.
  std::string source_version;
  // Of a source in another pool: when a call last asked for the copy, RFC 3339. Empty: the source
  // is in this pool.
  std::string wanted_at = {};
  // Then also the UUID of this creation: a later volume of the same name, with the same source, has
  // another one, and another image.
  std::string arrival = {};

  [[nodiscard]] bool from_elsewhere() const { return !wanted_at.empty(); }

  friend bool operator==(const CopyProgress&, const CopyProgress&) = default;
};

// Of a volume or snapshot that its CO has deleted, and that is kept for a while.
struct Trashed {
  std::string key = {};         // TrashKey
  std::string deleted_at = {};  // RFC 3339, by the clock of that moment
  std::chrono::seconds keep{0};
  // How much of that has passed, as far as it was noted: counted by the monotonic clocks of the
  // processes that served the pool since (docs/adr/0034).
  std::chrono::seconds kept{0};
  VolumeState before = VolumeState::kReady;  // the state that it had
  // A UUID of this deletion, where several processes count its time: the key may have been that of
  // an earlier one, which was restored. Else empty.
  std::string deletion = {};

  friend bool operator==(const Trashed&, const Trashed&) = default;
};

struct VolumeRecord {
  Volume volume;                    // id.pool and id.node are not stored: the pool knows them
  Bytes grow_to_bytes = 0;          // a growth that has begun, or 0
  std::uint32_t sector_size = 512;  // logical sector of the device; fixed for the volume's life
  // Where the backend names the bytes itself, else empty: a name that is chosen before they are
  // made and never given to others, and the storage's own id of them, known when they are made.
  std::string image_name;
  std::string image_id;
  // How many images the bytes share data with, one a clone of the other, where that slows them
  // down; 0: none.
  int clone_depth = 0;
  // Set while the copy is being made: in state copying, and perhaps in allocating.
  std::optional<CopyProgress> copy = {};
  // Set in state trashed, and in state deleting when it is deleted out of the trash.
  std::optional<Trashed> trashed = {};

  friend bool operator==(const VolumeRecord&, const VolumeRecord&) = default;
};

// True for the states after CreateVolume has returned the volume and before DeleteVolume, and for
// copying: such a volume is not returned yet, and kept.
[[nodiscard]] bool IsUsable(VolumeState state);

// True for a volume that is being copied; the record says how far that is.
[[nodiscard]] bool IsUnreturned(const VolumeRecord& record);

// JSON with a schema version and a checksum over everything else.
[[nodiscard]] std::string EncodeRecord(const VolumeRecord& record);

// The inverse. INTERNAL for anything that EncodeRecord cannot have written: not JSON, another
// schema version, a wrong checksum, missing or impossible values. A damaged record is never guessed
// at.
[[nodiscard]] absl::StatusOr<VolumeRecord> DecodeRecord(std::string_view text);

}  // namespace holdfast::pool
