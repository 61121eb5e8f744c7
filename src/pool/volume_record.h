// SPDX-License-Identifier: Apache-2.0
// The durable record of a volume: schema, text form and checks. docs/on-disk.md describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/volume.h"

namespace holdfast::pool {

struct VolumeRecord {
  Volume volume;                    // id.pool and id.node are not stored: the pool knows them
  Bytes grow_to_bytes = 0;          // a growth that has begun, or 0
  std::uint32_t sector_size = 512;  // logical sector of the device; fixed for the volume's life
  // Where the backend names the bytes itself, else empty: a name that is chosen before they are
  // made and never given to others, and the storage's own id of them, known when they are made.
  std::string image_name;
  std::string image_id;

  friend bool operator==(const VolumeRecord&, const VolumeRecord&) = default;
};

// True for the states after CreateVolume has returned the volume and before DeleteVolume.
[[nodiscard]] bool IsUsable(VolumeState state);

// JSON with a schema version and a checksum over everything else.
[[nodiscard]] std::string EncodeRecord(const VolumeRecord& record);

// The inverse. INTERNAL for anything that EncodeRecord cannot have written: not JSON, another
// schema version, a wrong checksum, missing or impossible values. A damaged record is never guessed
// at.
[[nodiscard]] absl::StatusOr<VolumeRecord> DecodeRecord(std::string_view text);

}  // namespace holdfast::pool
