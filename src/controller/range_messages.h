// SPDX-License-Identifier: Apache-2.0
// Questions about the blocks of snapshots, and pages of their answers as the link carries them.
#pragma once

#include <google/protobuf/map.h>

#include <optional>
#include <string>

#include "core/volume_id.h"
#include "pool/changed_ranges.h"
#include "proto/link.pb.h"

namespace holdfast::controller {

struct RangesQuestion {
  std::string snapshot;
  // Another snapshot of its volume, for what differs; none: for what holds data.
  std::optional<std::string> base = {};
  Bytes offset = 0;
  google::protobuf::Map<std::string, std::string> secrets = {};
};

struct SnapshotPlaces {
  VolumeId snapshot;
  std::optional<VolumeId> base;
};

// Where the snapshots are. NOT_FOUND if Holdfast never made such an id; INVALID_ARGUMENT if they
// are in two pools, and so of two volumes.
[[nodiscard]] absl::StatusOr<SnapshotPlaces> ParsePlaces(const RangesQuestion& question);

// Without the secrets, which nodes do not need.
[[nodiscard]] link::v1::FindRanges ToMessage(const RangesQuestion& question);
[[nodiscard]] RangesQuestion ParseQuestion(const link::v1::FindRanges& message);

[[nodiscard]] link::v1::Ranges ToMessage(const pool::RangePage& page);
// INVALID_ARGUMENT, saying why, if it cannot be a page from `offset` on.
[[nodiscard]] absl::StatusOr<pool::RangePage> ParsePage(const link::v1::Ranges& message,
                                                        Bytes offset);

}  // namespace holdfast::controller
