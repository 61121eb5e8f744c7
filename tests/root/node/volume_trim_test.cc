// SPDX-License-Identifier: Apache-2.0
#include "node/volume_trim.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "os/process.h"
#include "support/formatted_volume.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace volume_trim_test {

using test::BlockSpec;
using test::MountSpec;
using test::MountUse;
using test::NodeFixture;
using test::Value;

constexpr Bytes kSize = 320 * kMiB;
constexpr Bytes kData = 96 * kMiB;
constexpr Bytes kStep = 32 * kMiB;

struct Fixture : NodeFixture {
  VolumeId StageNew(const std::string& type, const VolumeUse& use = MountUse()) {
    const VolumeId id = Create(MountSpec("pvc-1", type, kSize)).id;
    REQUIRE_OK(Stage(id, use));
    empty = Allocated(id);
    return id;
  }
  [[nodiscard]] Bytes Allocated(const VolumeId& id) const {
    struct stat facts {};
    REQUIRE(::stat(ImageOf(id).c_str(), &facts) == 0);
    return facts.st_blocks * 512;
  }
  void Sync() const {
    const os::UniqueFd root(::open(staging().c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::syncfs(root.get()) == 0);
  }
  [[nodiscard]] bool HasGivenBack(const VolumeId& id) const {
    return Allocated(id) < empty + kData / 4;
  }
  // A file that comes and goes; the volume's image keeps its blocks.
  void WriteAndDelete() const {
    const std::string path = staging() + "/data";
    test::WriteFile(path, std::string(kData, 'x'));
    std::filesystem::remove(path);
    Sync();
  }
  [[nodiscard]] absl::StatusOr<TrimStep> Step(const VolumeId& id, Bytes from = 0) const {
    const auto candidate = Value(FindTrimCandidate(*pools, id.ToString()));
    REQUIRE(candidate);
    return TrimVolume(*candidate, stages, from, kStep);
  }
  // All steps; returns their number.
  int TrimAll(const VolumeId& id) const {
    int steps = 0;
    for (std::optional<Bytes> from = 0; from; ++steps) {
      const TrimStep step = Value(Step(id, *from));
      if (step.next) CHECK(*step.next > *from);
      from = step.next;
    }
    return steps;
  }

  Bytes empty = 0;  // what the filesystem itself takes
};

TEST_CASE_METHOD(Fixture, "what was deleted goes back to the pool, step by step") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  CAPTURE(type);
  const VolumeId id = StageNew(type);
  WriteAndDelete();
  REQUIRE_FALSE(HasGivenBack(id));
  CHECK(TrimAll(id) > 2);
  CHECK(HasGivenBack(id));
  REQUIRE_OK(Unstage(id));
}

// Its logical addresses have left the range from 0 to the size of the device.
TEST_CASE_METHOD(Fixture, "a btrfs is trimmed wherever its chunks are") {
  const VolumeId id = StageNew("btrfs");
  os::UniqueFd root(::open(staging().c_str(), O_RDONLY | O_CLOEXEC));
  const fs::Filesystem& btrfs = *fs::FindFilesystem("btrfs");
  const auto next = [&](Bytes from) { return Value(btrfs.NextToTrim(root.get(), {}, from)); };
  for (int round = 0; round < 10 && next(0)->begin < kSize; ++round) {
    REQUIRE_OK(os::RunCommandOrFail({"btrfs", "balance", "start", "--full-balance", staging()},
                                    std::chrono::minutes(2)));
  }
  const auto first = next(0);
  CHECK(first->begin >= kSize);
  CHECK(next(first->begin + kMiB) == first);  // always a whole one
  CHECK(next(first->end)->begin >= first->end);
  CHECK_FALSE(next(Bytes{1} << 60));
  WriteAndDelete();
  REQUIRE_FALSE(HasGivenBack(id));
  (void)TrimAll(id);
  CHECK(HasGivenBack(id));
  root = os::UniqueFd();
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "thick and raw block volumes are no candidates") {
  const VolumeId thick = Create(MountSpec("thick", "ext4", 32 * kMiB, Provisioning::kThick)).id;
  CHECK_FALSE(Value(FindTrimCandidate(*pools, thick.ToString())));
  const VolumeId block = Create(BlockSpec("block", kMiB, Provisioning::kThin)).id;
  CHECK_FALSE(Value(FindTrimCandidate(*pools, block.ToString())));
  CHECK_FAILS(FindTrimCandidate(*pools, pool->IdForName("never made").ToString()), kNotFound, "");
}

TEST_CASE_METHOD(Fixture, "a volume that is not staged, or not any more, is left") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", kSize)).id;
  CHECK_FAILS(Step(id), kNotFound, "");
  REQUIRE_OK(Stage(id));
  const TrimStep first = Value(Step(id));
  CHECK(first.next == kStep);
  REQUIRE_OK(Unstage(id));
  CHECK_FAILS(Step(id, *first.next), kNotFound, "");
}

TEST_CASE_METHOD(Fixture, "a volume that is staged for reading is not trimmed") {
  const VolumeId id = StageNew("ext4", MountUse(AccessMode::kSingleNodeReaderOnly));
  CHECK_FAILS(Step(id), kUnimplemented, "read-only");
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "another filesystem at the staging path is not trimmed") {
  const VolumeId id = StageNew("ext4");
  test::FormattedVolume other("ext4", kSize);
  other.Make();
  other.Mount();
  test::WriteFile(other.path() + "/data", std::string(kData, 'x'));
  std::filesystem::remove(other.path() + "/data");
  const Bytes before = other.image().AllocatedBytes();
  REQUIRE(::mount(other.path().c_str(), staging().c_str(), nullptr, MS_BIND, nullptr) == 0);
  CHECK_FAILS(Step(id), kInternal, "is not mounted at");
  CHECK(other.image().AllocatedBytes() >= before);
  UnmountPlainly(staging());
  REQUIRE_OK(Unstage(id));
}

// A driver that waited for the end of the freeze here would keep the volume's lock until then.
TEST_CASE_METHOD(Fixture, "a frozen filesystem is trimmed, and stays frozen") {
  const std::string type = GENERATE("ext4", "xfs", "btrfs");
  CAPTURE(type);
  const VolumeId id = StageNew(type);
  WriteAndDelete();
  os::UniqueFd root(::open(staging().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(::ioctl(root.get(), FIFREEZE, 0) == 0);
  (void)TrimAll(id);
  CHECK((::ioctl(root.get(), FIFREEZE, 0) != 0 && errno == EBUSY));
  REQUIRE(::ioctl(root.get(), FITHAW, 0) == 0);
  CHECK(HasGivenBack(id));
  root = os::UniqueFd();
  REQUIRE_OK(Unstage(id));
}

// The image grew, and the filesystem has not yet.
TEST_CASE_METHOD(Fixture, "a filesystem that is smaller than its device is trimmed to its end") {
  const std::string type = GENERATE("ext4", "xfs");
  const VolumeId id = StageNew(type);
  REQUIRE_OK(pool->Grow(id, 2 * kSize, 0));
  CHECK(TrimAll(id) <= kSize / kStep + 1);
  REQUIRE_OK(Unstage(id));
}

}  // namespace volume_trim_test
}  // namespace holdfast::node
