// SPDX-License-Identifier: Apache-2.0
#include "cli/io_rates.h"

#include <map>

#include "core/volume.h"

namespace holdfast::cli {
namespace {

// 0 if the counter began again.
std::int64_t PerSecond(std::int64_t before, std::int64_t now, double seconds) {
  if (now < before || seconds <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(now - before) / seconds);
}

}  // namespace

IoRates RatesBetween(const admin::v1::Volume& before, const admin::v1::Volume& now,
                     double seconds) {
  if (before.device() != now.device()) return {};
  return {.reads = PerSecond(before.reads(), now.reads(), seconds),
          .writes = PerSecond(before.writes(), now.writes(), seconds),
          .read_bytes = PerSecond(before.read_bytes(), now.read_bytes(), seconds),
          .written_bytes = PerSecond(before.written_bytes(), now.written_bytes(), seconds)};
}

std::vector<BusyVolume> BusyVolumes(const admin::v1::ListVolumesResponse& before,
                                    const admin::v1::ListVolumesResponse& now, double seconds) {
  std::map<std::string, const admin::v1::Volume*> earlier;
  for (const admin::v1::Volume& volume : before.volumes()) earlier.emplace(volume.id(), &volume);
  std::vector<BusyVolume> busy;
  for (const admin::v1::Volume& volume : now.volumes()) {
    if (volume.device().empty()) continue;
    const auto known = earlier.find(volume.id());
    busy.push_back({volume, known == earlier.end()
                                ? IoRates{}
                                : RatesBetween(*known->second, volume, seconds)});
  }
  return busy;
}

std::vector<LongWork> LongWorkIn(const admin::v1::ListVolumesResponse& volumes,
                                 const admin::v1::ListSnapshotsResponse& snapshots) {
  std::vector<LongWork> work;
  for (const admin::v1::Volume& volume : volumes.volumes()) {
    if (volume.state() != ToString(VolumeState::kCopying)) continue;
    work.push_back({.what = "copying",
                    .node = volume.node(),
                    .subject = volume.id(),
                    .name = volume.name(),
                    .done_bytes = volume.copied_bytes(),
                    .all_bytes = volume.capacity_bytes()});
  }
  for (const admin::v1::Snapshot& snapshot : snapshots.snapshots()) {
    const bool unshares = snapshot.ready_to_use() && snapshot.shared_bytes() > 0 &&
                          snapshot.provisioning() == ToString(Provisioning::kThick);
    if (snapshot.ready_to_use() && !unshares) continue;
    LongWork one{.what = unshares ? "unsharing" : "copying",
                 .node = snapshot.node(),
                 .subject = snapshot.id(),
                 .name = snapshot.name(),
                 .done_bytes = snapshot.copied_bytes(),
                 .all_bytes = snapshot.size_bytes()};
    if (unshares) {
      one.done_bytes = snapshot.occupied_bytes() - snapshot.shared_bytes();
      one.all_bytes = snapshot.occupied_bytes();
    }
    work.push_back(std::move(one));
  }
  return work;
}

}  // namespace holdfast::cli
