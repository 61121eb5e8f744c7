// SPDX-License-Identifier: Apache-2.0
// A pool on a small filesystem of its own, filled to the brim.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "os/host_filesystem.h"
#include "support/file_pool_fixture.h"
#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace {

namespace stdfs = std::filesystem;
using test::BlockSpec;

constexpr SpacePolicy kNothingKept{
    .reserve_bytes = 0, .reserve_fraction = 0, .overcommit = 1, .watermark = 1};

// The disk outlives the pool on it.
struct SmallDisk {
  explicit SmallDisk(SpacePolicy space = {}) : pool(disk.path(), space) {}
  Bytes Available() const {
    return test::Value(os::MeasureFilesystem(disk.Root().get())).available;
  }
  // Takes room away behind the ledger's back.
  void Fill(Bytes size) const {
    const std::string path = disk.path() + "/filler";
    const os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::fallocate(file.get(), 0, 0, size) == 0);
  }
  test::MountedFilesystem disk{"ext4", {"mkfs.ext4", "-q", "-m", "0"}, 64 * kMiB};
  test::FilePoolFixture pool;
};

TEST_CASE("what is promised as the largest volume is given") {
  SmallDisk small;
  FilePool& pool = *small.pool.pool;
  const Bytes largest = test::Value(pool.Measure(Provisioning::kThick)).maximum_volume_bytes;
  CHECK_FAILS(pool.Create(BlockSpec("over", largest + kVolumeGranularity)), kResourceExhausted, "");
  REQUIRE_OK(pool.Create(BlockSpec("all", largest)));
  CHECK(test::Value(pool.Measure(Provisioning::kThick)).maximum_volume_bytes == 0);
  CHECK_FAILS(pool.Create(BlockSpec("more", kVolumeGranularity)), kResourceExhausted, "");
  small.pool.Restart();
  CHECK_FAILS(small.pool.pool->Create(BlockSpec("more", kVolumeGranularity)), kResourceExhausted,
              "");
  REQUIRE_OK(small.pool.pool->Delete(small.pool.pool->IdOf("all")));
  REQUIRE(::syncfs(small.disk.Root().get()) == 0);  // until then freed blocks may not count as free
  CHECK(test::Value(small.pool.pool->Measure(Provisioning::kThick)).maximum_volume_bytes ==
        largest);
}

TEST_CASE("thin volumes share the room with thick ones, also after a restart") {
  SmallDisk small;
  const Bytes largest =
      test::Value(small.pool.pool->Measure(Provisioning::kThin)).maximum_volume_bytes;
  REQUIRE_OK(small.pool.pool->Create(BlockSpec("thin", largest - kMiB, Provisioning::kThin)));
  for (int start = 0; start < 2; ++start) {
    CHECK_FAILS(small.pool.pool->Create(BlockSpec("thick", 2 * kMiB)), kResourceExhausted, "");
    CHECK_FAILS(small.pool.pool->Create(BlockSpec("thin2", 2 * kMiB, Provisioning::kThin)),
                kResourceExhausted, "");
    small.pool.Restart();
  }
}

TEST_CASE("a creation that runs out of room leaves nothing") {
  SmallDisk small(kNothingKept);
  FilePool& pool = *small.pool.pool;
  const Bytes before = small.Available();
  // All that statvfs tells of, which leaves no block for the volume's own record.
  const Bytes everything = test::Value(pool.Measure(Provisioning::kThick)).available_bytes;
  const auto created = pool.Create(BlockSpec("all", everything));
  CAPTURE(created.status());
  CHECK_FALSE(created.ok());
  CHECK(stdfs::is_empty(small.disk.path() + "/volumes"));
  CHECK(stdfs::is_empty(small.disk.path() + "/trash"));
  CHECK(small.Available() >= before - 64 * kKiB);
  CHECK(test::Value(pool.Usage()).thick_promised == 0);
  REQUIRE_OK(pool.Create(BlockSpec("half", everything / 2)));
}

TEST_CASE("a growth that runs out of room leaves the volume as it was") {
  SmallDisk small(kNothingKept);
  FilePool& pool = *small.pool.pool;
  const Volume volume = small.pool.Create(BlockSpec("pvc-1", 4 * kMiB));
  small.pool.WriteFile(small.pool.ImageOf(volume.id), std::string(4 * kMiB, 'x'));
  SECTION("as the ledger knows") {
    CHECK_FAILS(pool.Grow(volume.id, 128 * kMiB, 0), kResourceExhausted, "do not fit");
  }
  SECTION("as the filesystem finds, at the next start") {
    small.Fill(32 * kMiB);
    small.pool.Stop();
    small.pool.ChangeRecord(volume.id,
                            [](VolumeRecord& record) { record.grow_to_bytes = 40 * kMiB; });
    small.pool.Start();
  }
  SECTION("as the filesystem finds, at the next stage") {
    small.Fill(32 * kMiB);
    small.pool.ChangeRecord(volume.id,
                            [](VolumeRecord& record) { record.grow_to_bytes = 40 * kMiB; });
    CHECK_FAILS(pool.Attach(volume.id), kResourceExhausted, "");
    REQUIRE_OK(pool.Attach(volume.id));
    REQUIRE_OK(pool.Detach(volume.id));
  }
  CHECK(test::Value(small.pool.pool->Get(volume.id)).capacity_bytes == 4 * kMiB);
  CHECK(small.pool.ReadRecord(volume.id).grow_to_bytes == 0);
  CHECK(small.pool.ReadFile(small.pool.ImageOf(volume.id)) == std::string(4 * kMiB, 'x'));
  CHECK(test::Value(small.pool.pool->Usage()).thick_promised == 4 * kMiB);
}

TEST_CASE("a thick volume that lost bytes to a full disk is attached and reported") {
  SmallDisk small(kNothingKept);
  const Volume volume = small.pool.Create(BlockSpec("pvc-1", 16 * kMiB));
  {
    const os::UniqueFd image(::open(small.pool.ImageOf(volume.id).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::fallocate(image.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 16 * kMiB) == 0);
  }
  small.Fill(small.Available() - kMiB);
  REQUIRE_OK(small.pool.pool->Attach(volume.id));
  CHECK(small.pool.pool->Condition(volume).abnormal);
  REQUIRE_OK(small.pool.pool->Detach(volume.id));
}

TEST_CASE("many creations at once get no more than there is, and each its own in full") {
  constexpr int kThreads = 8;
  constexpr Bytes kSize = 8 * kMiB;  // some fit, not all
  SmallDisk small;
  FilePool& pool = *small.pool.pool;
  const Bytes largest = test::Value(pool.Measure(Provisioning::kThick)).maximum_volume_bytes;
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const auto created = pool.Create(BlockSpec("pvc-" + std::to_string(i), kSize));
        if (created.ok()) ++made;
        if (absl::IsResourceExhausted(created.status())) ++refused;
      });
    }
  }
  CHECK(made == largest / kSize);
  CHECK(made + refused == kThreads);
  const PoolUsage usage = test::Value(pool.Usage());
  CHECK(usage.thick_promised == made * kSize);
  CHECK(usage.free >= usage.reserve);
  for (const Volume& volume : pool.List("", 0)) CHECK_FALSE(pool.Condition(volume).abnormal);
}

}  // namespace
}  // namespace holdfast::pool
