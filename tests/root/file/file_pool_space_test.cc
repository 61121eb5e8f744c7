// SPDX-License-Identifier: Apache-2.0
// A pool on a small separate filesystem, filled completely.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "os/host_filesystem.h"
#include "support/file_pool_fixture.h"
#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace file_pool_space_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;

const PoolKeys kNothingKept{{"reserve", "0"}, {"watermark", "100%"}};

// The disk outlives the pool on it.
struct SmallDisk {
  explicit SmallDisk(PoolKeys keys = {}) : pool(disk.path(), std::move(keys)) {}
  Bytes Available() const {
    return test::Value(os::MeasureFilesystem(disk.Root().get())).available;
  }
  // Uses up space without the ledger's knowledge.
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
  const Bytes largest = test::Value(pool.GetCapacity(Provisioning::kThick)).maximum_volume_bytes;
  CHECK_FAILS(pool.Create(BlockSpec("over", largest + kVolumeGranularity)), kResourceExhausted, "");
  REQUIRE_OK(pool.Create(BlockSpec("all", largest)));
  for (int start = 0; start < 2; ++start) {
    CHECK(test::Value(small.pool.pool->GetCapacity(Provisioning::kThick)).maximum_volume_bytes <
          kMiB);
    CHECK_FAILS(small.pool.pool->Create(BlockSpec("more", kMiB)), kResourceExhausted, "");
    small.pool.Restart();
  }
  REQUIRE_OK(small.pool.pool->Delete(small.pool.pool->IdForName("all")));
  REQUIRE(::syncfs(small.disk.Root().get()) == 0);  // until then freed blocks may not count as free
  const auto again = small.pool.pool->GetCapacity(Provisioning::kThick);
  CHECK(test::Value(again).maximum_volume_bytes > largest - 64 * kKiB);
}

TEST_CASE("thin volumes share the room with thick ones, also after a restart") {
  SmallDisk small;
  const Bytes largest =
      test::Value(small.pool.pool->GetCapacity(Provisioning::kThin)).maximum_volume_bytes;
  REQUIRE_OK(small.pool.pool->Create(BlockSpec("thin", largest - kMiB, Provisioning::kThin)));
  for (int start = 0; start < 2; ++start) {
    CHECK_FAILS(small.pool.pool->Create(BlockSpec("thick", 2 * kMiB)), kResourceExhausted, "");
    CHECK_FAILS(small.pool.pool->Create(BlockSpec("thin2", 2 * kMiB, Provisioning::kThin)),
                kResourceExhausted, "");
    small.pool.Restart();
  }
}

TEST_CASE("a damaged record does not free what it promised") {
  SmallDisk small;
  const Bytes largest =
      test::Value(small.pool.pool->GetCapacity(Provisioning::kThin)).maximum_volume_bytes;
  const Volume thin = small.pool.Create(BlockSpec("thin", largest - kMiB, Provisioning::kThin));
  test::FilePoolFixture::WriteFile(small.pool.PathOf(thin.id, "record.json"), "{}");
  small.pool.Restart();
  CHECK_FAILS(small.pool.pool->Create(BlockSpec("thick", 2 * kMiB)), kResourceExhausted, "");
}

// While it lives, files of this process cannot become larger than `size`: the system refuses what
// the ledger allows.
class FileSizeLimit final {
 public:
  explicit FileSizeLimit(rlim_t size) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = size, .rlim_max = before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_CASE("a creation that the system refuses midway leaves nothing") {
  SmallDisk small;
  FilePool& pool = *small.pool.pool;
  const Bytes before = small.Available();
  {
    const FileSizeLimit limit(kMiB);
    CHECK_FAILS(pool.Create(BlockSpec("pvc-1", 16 * kMiB)), kOutOfRange, "image");
  }
  CHECK(stdfs::is_empty(small.disk.path() + "/volumes"));
  CHECK(stdfs::is_empty(small.disk.path() + "/trash"));
  CHECK(small.Available() >= before - 64 * kKiB);
  CHECK(test::Value(pool.GetUsage()).thick_provisioned == 0);
  REQUIRE_OK(pool.Create(BlockSpec("pvc-1", 16 * kMiB)));
}

TEST_CASE("a growth that the system refuses midway is taken back") {
  SmallDisk small;
  FilePool& pool = *small.pool.pool;
  const Volume volume = small.pool.Create(BlockSpec("pvc-1", 4 * kMiB));
  {
    const FileSizeLimit limit(8 * kMiB);
    CHECK_FAILS(pool.Grow(volume.id, 16 * kMiB, 0), kOutOfRange, "image");
  }
  CHECK(small.pool.ReadRecord(volume.id).grow_to_bytes == 0);
  CHECK(stdfs::file_size(small.pool.ImageOf(volume.id)) == 4 * kMiB);
  CHECK(test::Value(pool.GetUsage()).thick_provisioned == 4 * kMiB);
  CHECK(test::Value(pool.Grow(volume.id, 16 * kMiB, 0)).capacity_bytes == 16 * kMiB);
}

TEST_CASE("a growth that runs out of room leaves the volume as it was") {
  SmallDisk small(kNothingKept);
  FilePool& pool = *small.pool.pool;
  const Volume volume = small.pool.Create(BlockSpec("pvc-1", 4 * kMiB));
  small.pool.WriteFile(small.pool.ImageOf(volume.id), std::string(4 * kMiB, 'x'));
  SECTION("as the ledger knows") {
    CHECK_FAILS(pool.Grow(volume.id, 128 * kMiB, 0), kResourceExhausted, "does not fit");
  }
  SECTION("as the filesystem finds, at the next start") {
    small.Fill(32 * kMiB);
    small.pool.Stop();
    small.pool.ChangeRecord(volume.id,
                            [](pool::VolumeRecord& record) { record.grow_to_bytes = 40 * kMiB; });
    small.pool.Start();
  }
  SECTION("as the filesystem finds, at the next stage") {
    small.Fill(32 * kMiB);
    small.pool.ChangeRecord(volume.id,
                            [](pool::VolumeRecord& record) { record.grow_to_bytes = 40 * kMiB; });
    CHECK_FAILS(pool.MapDevice(volume.id, test::kWriter), kResourceExhausted, "");
    REQUIRE_OK(pool.MapDevice(volume.id, test::kWriter));
    REQUIRE_OK(pool.UnmapDevice(volume.id));
  }
  CHECK(test::Value(small.pool.pool->Get(volume.id)).capacity_bytes == 4 * kMiB);
  CHECK(small.pool.ReadRecord(volume.id).grow_to_bytes == 0);
  CHECK((small.pool.ReadFile(small.pool.ImageOf(volume.id)) == std::string(4 * kMiB, 'x')));
  CHECK(test::Value(small.pool.pool->GetUsage()).thick_provisioned == 4 * kMiB);
}

TEST_CASE("a thick volume that lost bytes to a full disk is attached and reported") {
  SmallDisk small(kNothingKept);
  const Volume volume = small.pool.Create(BlockSpec("pvc-1", 16 * kMiB));
  {
    const os::UniqueFd image(::open(small.pool.ImageOf(volume.id).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::fallocate(image.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 16 * kMiB) ==
            0);
  }
  small.Fill(small.Available() - kMiB);
  REQUIRE_OK(small.pool.pool->MapDevice(volume.id, test::kWriter));
  CHECK(small.pool.pool->Condition(volume).abnormal);
  REQUIRE_OK(small.pool.pool->UnmapDevice(volume.id));
}

TEST_CASE("many creations at once get no more than there is, and each its own in full") {
  constexpr int kThreads = 8;
  constexpr Bytes kSize = 8 * kMiB;  // some fit, not all
  SmallDisk small;
  FilePool& pool = *small.pool.pool;
  const Bytes largest = test::Value(pool.GetCapacity(Provisioning::kThick)).maximum_volume_bytes;
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
  const pool::PoolUsage usage = test::Value(pool.GetUsage());
  CHECK(usage.thick_provisioned == made * kSize);
  CHECK(usage.free >= usage.reserve);
  const std::vector<Volume> all = pool.List("", 0).value();
  for (const Volume& volume : all) CHECK_FALSE(pool.Condition(volume).abnormal);
}

}  // namespace file_pool_space_test
}  // namespace holdfast::file
