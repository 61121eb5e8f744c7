// SPDX-License-Identifier: Apache-2.0
#include "cli/io_rates.h"

#include <catch2/catch.hpp>

namespace holdfast::cli {
namespace io_rates_test {

admin::v1::Volume VolumeOf(std::int64_t requests, const std::string& device = "/dev/loop1") {
  admin::v1::Volume volume;
  volume.set_id("v");
  volume.set_device(device);
  volume.set_reads(requests);
  volume.set_writes(2 * requests);
  volume.set_read_bytes(4096 * requests);
  volume.set_written_bytes(8192 * requests);
  return volume;
}

TEST_CASE("rates are what was counted in between, by the time that passed") {
  const IoRates rates = RatesBetween(VolumeOf(100), VolumeOf(300), 2.0);
  CHECK(rates.reads == 100);
  CHECK(rates.writes == 200);
  CHECK(rates.read_bytes == 409'600);
  CHECK(rates.written_bytes == 819'200);
}

TEST_CASE("counters that began again have no rates") {
  CHECK(RatesBetween(VolumeOf(300), VolumeOf(100), 2.0).reads == 0);
  CHECK(RatesBetween(VolumeOf(100, "/dev/loop0"), VolumeOf(300), 2.0).reads == 0);
  CHECK(RatesBetween(VolumeOf(100), VolumeOf(300), 0.0).reads == 0);
}

TEST_CASE("a volume without a device is left out, and one that is new has no rates yet") {
  admin::v1::ListVolumesResponse before;
  admin::v1::ListVolumesResponse now;
  *now.add_volumes() = VolumeOf(300);
  *now.add_volumes() = VolumeOf(300, "");
  const auto busy = BusyVolumes(before, now, 1.0);
  REQUIRE(busy.size() == 1);
  CHECK(busy.front().rates.reads == 0);
  *before.add_volumes() = VolumeOf(100);
  CHECK(BusyVolumes(before, now, 1.0).front().rates.reads == 200);
}

TEST_CASE("copies and thick snapshots that share blocks are work; what is complete is not") {
  admin::v1::ListVolumesResponse volumes;
  volumes.add_volumes()->set_state("ready");
  admin::v1::Volume& copy = *volumes.add_volumes();
  copy.set_state("copying");
  copy.set_copied_bytes(3);
  copy.set_capacity_bytes(10);
  admin::v1::ListSnapshotsResponse snapshots;
  for (const char* const provisioning : {"thick", "thin"}) {
    admin::v1::Snapshot& shares = *snapshots.add_snapshots();
    shares.set_ready_to_use(true);
    shares.set_provisioning(provisioning);
    shares.set_occupied_bytes(10);
    shares.set_shared_bytes(4);
  }
  const auto work = LongWorkIn(volumes, snapshots);
  REQUIRE(work.size() == 2);
  CHECK((work[0].what == "copying" && work[0].done_bytes == 3 && work[0].all_bytes == 10));
  CHECK((work[1].what == "unsharing" && work[1].done_bytes == 6 && work[1].all_bytes == 10));
}

}  // namespace io_rates_test
}  // namespace holdfast::cli
