// SPDX-License-Identifier: Apache-2.0
// Records from before, or from the middle of, a growth that was finished long ago.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/host_filesystem.h"
#include "support/file_pool_fixture.h"
#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace old_record_growth_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;

const PoolKeys kNothingKept{{"reserve", "0"}, {"watermark", "100%"}};

// A thick volume of 24 MiB, written to its end, whose holes have lost their space on a full disk: a
// copy from a backup.
struct FullDisk {
  FullDisk() {
    (void)pool.Create(BlockSpec("old", 8 * kMiB));
    REQUIRE_OK(pool.pool->Grow(id, 24 * kMiB, 0));
    const os::UniqueFd image(::open(pool.ImageOf(id).c_str(), O_RDWR | O_CLOEXEC));
    const std::string text = "the last bytes";
    REQUIRE(::pwrite(image.get(), text.data(), text.size(), 24 * kMiB - 4096) > 0);
    REQUIRE(::fallocate(image.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kMiB, 22 * kMiB) ==
            0);
    REQUIRE(::fsync(image.get()) == 0);
    pool.Stop();
    const std::string filler = disk.path() + "/filler";
    const os::UniqueFd file(::open(filler.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const Bytes available = test::Value(os::MeasureFilesystem(disk.Root().get())).available;
    REQUIRE(::fallocate(file.get(), 0, 0, available - 2 * kMiB) == 0);
  }
  void SetOldRecord(Bytes capacity, Bytes grow_to) {
    pool.ChangeRecord(id, [&](pool::VolumeRecord& record) {
      record.volume.capacity_bytes = capacity;
      record.grow_to_bytes = grow_to;
    });
    pool.Start();
  }
  ~FullDisk() { pool.Stop(); }

  const test::MountedFilesystem disk{"ext4", {"mkfs.ext4", "-q", "-m", "0"}, 64 * kMiB};
  test::FilePoolFixture pool{disk.path(), kNothingKept};
  const VolumeId id = pool.pool->IdForName("old");
};

TEST_CASE("a growth that was over is not taken back on a full disk") {
  FullDisk full;
  const std::string content = full.pool.ReadFile(full.pool.ImageOf(full.id));
  full.SetOldRecord(8 * kMiB, 24 * kMiB);
  CHECK((full.pool.ReadFile(full.pool.ImageOf(full.id)) == content));
  const Volume volume = test::Value(full.pool.pool->Get(full.id));
  CHECK(volume.capacity_bytes == 24 * kMiB);
  CHECK(full.pool.ReadRecord(full.id).grow_to_bytes == 0);
  CHECK(full.pool.pool->Condition(volume).abnormal);  // it is not thick
  CHECK(test::Value(full.pool.pool->MapDevice(full.id, test::kWriter)).size == 24 * kMiB);
  REQUIRE_OK(full.pool.pool->UnmapDevice(full.id));
}

TEST_CASE("bytes that were used are not cut off, whatever growth the record tells of") {
  FullDisk full;
  const std::string content = full.pool.ReadFile(full.pool.ImageOf(full.id));
  full.SetOldRecord(8 * kMiB, 60 * kMiB);
  CHECK_FAILS(full.pool.pool->MapDevice(full.id, test::kWriter), kUnavailable, "not cut off");
  CHECK_FAILS(full.pool.pool->Repair(full.id), kUnavailable, "not cut off");
  CHECK((full.pool.ReadFile(full.pool.ImageOf(full.id)) == content));
}

TEST_CASE_METHOD(test::FilePoolFixture, "an image that is larger than its record is kept") {
  const Volume volume = Create(BlockSpec("old", kMiB));
  REQUIRE_OK(pool->Grow(volume.id, 4 * kMiB, 0));
  Stop();
  WriteFile(ImageOf(volume.id), std::string(4 * kMiB, 'd'));
  const Bytes grow_to = GENERATE(as<Bytes>(), 0, 2 * kMiB);
  ChangeRecord(volume.id, [&](pool::VolumeRecord& record) {
    record.volume.capacity_bytes = kMiB;
    record.grow_to_bytes = grow_to;
  });
  Start();
  constexpr char kKeep[] = "the record is older than the image; keep the image";
  CHECK_FAILS(pool->MapDevice(volume.id, test::kWriter), kFailedPrecondition, kKeep);
  CHECK_FAILS(pool->Grow(volume.id, 8 * kMiB, 0), kFailedPrecondition, kKeep);
  const VolumeCondition condition = pool->Condition(test::Value(pool->Get(volume.id)));
  CHECK(condition.abnormal);
  CHECK(condition.message.find(kKeep) != std::string::npos);
  CHECK((ReadFile(ImageOf(volume.id)) == std::string(4 * kMiB, 'd')));
}

}  // namespace old_record_growth_test
}  // namespace holdfast::file
