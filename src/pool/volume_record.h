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
  // Of an RBD image, empty for files: its name, chosen before it is made and given to no other
  // image ever, and Ceph's own id of it, known when it is made.
  std::string image_name;
  std::string image_id;

  friend bool operator==(const VolumeRecord&, const VolumeRecord&) = default;
};

// Whether CreateVolume has returned a volume in this state and DeleteVolume was not called.
[[nodiscard]] bool IsUsable(VolumeState state);

// JSON with a schema version and a checksum over everything else.
[[nodiscard]] std::string EncodeRecord(const VolumeRecord& record);

// The inverse. INTERNAL for anything that EncodeRecord cannot have written: not JSON, another
// schema version, a wrong checksum, missing or impossible values. A damaged record is never guessed
// at.
[[nodiscard]] absl::StatusOr<VolumeRecord> DecodeRecord(std::string_view text);

}  // namespace holdfast::pool
