// SPDX-License-Identifier: Apache-2.0
// What volumes read and wrote between two looks, and the long-running work on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/admin.pb.h"

namespace holdfast::cli {

// Per second.
struct IoRates {
  std::int64_t reads = 0;
  std::int64_t writes = 0;
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
};

// `seconds` lie between the two; 0 of a volume that was attached meanwhile, whose counters began
// again.
[[nodiscard]] IoRates RatesBetween(const admin::v1::Volume& before, const admin::v1::Volume& now,
                                   double seconds);

// A volume that has a device.
struct BusyVolume {
  admin::v1::Volume volume;
  IoRates rates;
};

// Those of `now`, in its order. A volume that is not in `before` has no rates yet.
[[nodiscard]] std::vector<BusyVolume> BusyVolumes(const admin::v1::ListVolumesResponse& before,
                                                  const admin::v1::ListVolumesResponse& now,
                                                  double seconds);

// A copy that is being made, or that gets blocks of its own.
struct LongWork {
  std::string what;  // "copying", "unsharing"
  std::string node;
  std::string subject;  // id of the volume or snapshot
  std::string name;
  std::int64_t done_bytes = 0;
  std::int64_t all_bytes = 0;
};

[[nodiscard]] std::vector<LongWork> LongWorkIn(const admin::v1::ListVolumesResponse& volumes,
                                               const admin::v1::ListSnapshotsResponse& snapshots);

}  // namespace holdfast::cli
