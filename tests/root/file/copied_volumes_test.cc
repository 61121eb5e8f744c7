// SPDX-License-Identifier: Apache-2.0
// Snapshots and copies in a pool whose filesystem cannot share blocks.
#include <fcntl.h>
#include <sys/xattr.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "support/file_pool_fixture.h"
#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace copied_volumes_test {

using test::BlockSpec;
using test::MountSpec;
using test::Value;

constexpr Bytes kSize = 32 * kMiB;
constexpr Bytes kData = 4 * kMiB;

struct Quietness {
  int begun = 0;
  int ended = 0;
  CutOptions options;
  absl::Status end;
  std::function<void()> at_begin;
};

class TestQuiet final : public pool::Quiet {
 public:
  explicit TestQuiet(Quietness& quietness) : quietness_(quietness) {}
  absl::Status End() override {
    ++quietness_.ended;
    return quietness_.end;
  }

 private:
  Quietness& quietness_;
};

struct DiskFixture {
  test::MountedFilesystem disk{"ext4", {"mkfs.ext4", "-q", "-F"}, 512 * kMiB};
};

struct Fixture : DiskFixture, test::FilePoolFixture {
  Fixture() : FilePoolFixture(DiskFixture::disk.path() + "/pool") {
    quiesce = [this](const VolumeId&, const os::BlockDevice&,
                     const CutOptions& options) -> absl::StatusOr<std::unique_ptr<pool::Quiet>> {
      ++quietness.begun;
      quietness.options = options;
      if (quietness.at_begin) quietness.at_begin();
      return std::make_unique<TestQuiet>(quietness);
    };
    Restart();
  }
  static VolumeSpec SnapshotSpec(const VolumeId& of) {
    VolumeSpec spec;
    spec.role = VolumeRole::kSnapshot;
    spec.name = "snap";
    spec.source = ContentSource{VolumeRole::kVolume, of};
    return spec;
  }
  // A volume with data in the middle.
  VolumeId Origin(const VolumeSpec& spec, Bytes data = kData) {
    const VolumeId id = Create(spec).id;
    const os::UniqueFd image(::open(ImageOf(id).c_str(), O_RDWR | O_CLOEXEC));
    const std::string bytes(static_cast<std::size_t>(data), 'x');
    REQUIRE(::pwrite(image.get(), bytes.data(), bytes.size(), 8 * kMiB) == data);
    REQUIRE(::fsync(image.get()) == 0);
    return id;
  }
  Bytes AllocatedTo(const VolumeId& id) const {
    struct stat facts {};
    REQUIRE(::stat(ImageOf(id).c_str(), &facts) == 0);
    return facts.st_blocks * 512;
  }
  // As a kill leaves a copy of which nothing is there yet.
  void UndoCopy(const VolumeId& copy, const VolumeId& source) const {
    struct stat facts {};
    REQUIRE(::stat(ImageOf(source).c_str(), &facts) == 0);
    ChangeRecord(copy, [&](pool::VolumeRecord& record) {
      record.volume.state = VolumeState::kCopying;
      record.copy = pool::CopyProgress{
          .data_bytes = kData,
          .copied_to = 0,
          .source_version = fmt::format("{} bytes, changed {}.{:09}", facts.st_size,
                                        facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec)};
    });
    REQUIRE(::removexattr(ImageOf(copy).c_str(), "trusted.holdfast.copied") == 0);
    const os::UniqueFd image(::open(ImageOf(copy).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::fallocate(image.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kSize) == 0);
  }
  bool AreEqual(const VolumeId& one, const VolumeId& other) const {
    return ReadFile(ImageOf(one)) == ReadFile(ImageOf(other));
  }

  Quietness quietness;
};

TEST_CASE_METHOD(Fixture, "a snapshot has the data of its volume and room for nothing else") {
  const auto provisioning = GENERATE(Provisioning::kThick, Provisioning::kThin);
  const VolumeId origin = Origin(BlockSpec("pv", kSize, provisioning));
  const Volume snapshot = Create(SnapshotSpec(origin));
  CHECK(snapshot.state == VolumeState::kReady);
  CHECK(AreEqual(snapshot.id, origin));
  CHECK(AllocatedTo(snapshot.id) < kData + kMiB);
  CHECK(quietness.begun == 0);
  VolumeSpec spec = BlockSpec("copy", 2 * kSize, provisioning);
  spec.source = ContentSource{VolumeRole::kSnapshot, snapshot.id};
  const Volume copy = Create(spec);
  CHECK((ReadFile(ImageOf(copy.id)).substr(0, kSize) == ReadFile(ImageOf(origin))));
  const bool thick = provisioning == Provisioning::kThick;
  CHECK((AllocatedTo(copy.id) >= 2 * kSize) == thick);
  CHECK(pool->Condition(copy).message == "the storage is intact");
  CHECK(Value(pool->FindLeftovers()).empty());
}

TEST_CASE_METHOD(Fixture, "a copy that a kill cut short keeps its source until it is complete") {
  const VolumeId origin = Origin(BlockSpec("pv", kSize));
  const VolumeId snapshot = Create(SnapshotSpec(origin)).id;
  UndoCopy(snapshot, origin);
  Stop();
  Start();  // repairs
  CHECK(Value(pool->GetSnapshot(snapshot)).state == VolumeState::kReady);
  CHECK(AreEqual(snapshot, origin));
}

TEST_CASE_METHOD(Fixture, "a source that was changed makes its copy void and is free itself") {
  const VolumeId origin = Origin(BlockSpec("pv", kSize));
  const VolumeId snapshot = Create(SnapshotSpec(origin)).id;
  UndoCopy(snapshot, origin);
  const auto record = ReadRecord(snapshot);
  Stop();
  const os::UniqueFd image(::open(ImageOf(origin).c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::pwrite(image.get(), "y", 1, 0) == 1);
  Start();
  CHECK_FAILS(pool->Repair(snapshot), kFailedPrecondition, "was changed while");
  CHECK_FAILS(pool->Create(SnapshotSpec(origin)).status(), kFailedPrecondition, "delete it");
  CHECK(ReadRecord(snapshot) == record);
  REQUIRE_OK(pool->MapDevice(origin, test::kWriter).status());
  REQUIRE_OK(pool->UnmapDevice(origin));
  REQUIRE_OK(pool->DeleteSnapshot(snapshot));
}

TEST_CASE_METHOD(Fixture, "a truncated image is not copied as if it were whole") {
  const VolumeId origin = Origin(BlockSpec("pv", kSize));
  std::filesystem::resize_file(ImageOf(origin), kSize / 2);
  CHECK_FAILS(pool->Create(SnapshotSpec(origin)).status(), kFailedPrecondition, "truncated");
  CHECK_FALSE(std::filesystem::exists(PathOf(pool->IdForSnapshotName("snap"))));
}

TEST_CASE_METHOD(Fixture, "a mounted volume is copied while its writers are held back") {
  const VolumeId origin = Origin(MountSpec("pv", "ext4", kSize));
  REQUIRE_OK(pool->MapDevice(origin, test::kWriter).status());
  VolumeSpec spec = SnapshotSpec(origin);
  spec.cut.longest_freeze = std::chrono::seconds(9);
  SECTION("and the copy is complete at once") {
    const Volume snapshot = Create(spec);
    CHECK(snapshot.state == VolumeState::kReady);
    CHECK(AreEqual(snapshot.id, origin));
    CHECK(quietness.begun == 1);
    CHECK(quietness.ended == 1);
    CHECK(quietness.options.longest_freeze == spec.cut.longest_freeze);
  }
  SECTION("and is void if they went on before its end") {
    quietness.end = Aborted("thawed too early");
    CHECK_FAILS(pool->Create(spec).status(), kAborted, "thawed too early");
    CHECK_FALSE(std::filesystem::exists(PathOf(pool->IdForSnapshotName("snap"))));
  }
  REQUIRE_OK(pool->UnmapDevice(origin));
}

TEST_CASE_METHOD(Fixture, "what would be frozen for too long, or cannot be, is refused") {
  VolumeSpec origin_spec = MountSpec("pv", "ext4", 256 * kMiB);
  std::string why;
  CutOptions cut;
  SECTION("by the measured rate") {
    cut.longest_freeze = std::chrono::milliseconds(1);
    why = "it would be frozen for about .* and maxFreeze is 1 ms";
  }
  SECTION("because nobody wants it") {
    cut.freeze = false;
    why = "only while it is frozen";
  }
  SECTION("because it is a raw device") {
    origin_spec = BlockSpec("pv", 256 * kMiB, Provisioning::kThin);
    why = "raw block device";
  }
  const VolumeId origin = Origin(origin_spec, 200 * kMiB);
  REQUIRE_OK(pool->MapDevice(origin, test::kWriter).status());
  VolumeSpec spec = SnapshotSpec(origin);
  spec.cut = cut;
  const absl::Status refused = pool->Create(spec).status();
  CHECK_THAT(std::string(refused.message()), Catch::Matches(".*" + why + ".*xfs .* or btrfs.*"));
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(quietness.begun == 0);
  CHECK_FALSE(std::filesystem::exists(PathOf(pool->IdForSnapshotName("snap"))));
  REQUIRE_OK(pool->UnmapDevice(origin));
}

TEST_CASE_METHOD(Fixture, "a copy that does not end in time is given up, and the writers go on") {
  const VolumeId origin = Origin(MountSpec("pv", "ext4", 256 * kMiB), kMiB);
  REQUIRE_OK(pool->MapDevice(origin, test::kWriter).status());
  quietness.at_begin = [&] {  // the data grows after the estimate
    const os::UniqueFd image(::open(ImageOf(origin).c_str(), O_RDWR | O_CLOEXEC));
    const std::string bytes(static_cast<std::size_t>(200 * kMiB), 'z');
    REQUIRE(::pwrite(image.get(), bytes.data(), bytes.size(), 16 * kMiB) == 200 * kMiB);
  };
  VolumeSpec spec = SnapshotSpec(origin);
  spec.cut.longest_freeze = std::chrono::milliseconds(100);
  CHECK_FAILS(pool->Create(spec).status(), kAborted, "not copied within maxFreeze");
  CHECK_FALSE(std::filesystem::exists(PathOf(pool->IdForSnapshotName("snap"))));
  CHECK(quietness.ended == 1);
  REQUIRE_OK(pool->UnmapDevice(origin));
}

}  // namespace copied_volumes_test
}  // namespace holdfast::file
