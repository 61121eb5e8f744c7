// SPDX-License-Identifier: Apache-2.0
// What a pool that shares blocks tells about its snapshots.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "os/loop_number.h"
#include "support/await.h"
#include "support/file_pool_fixture.h"
#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace file_pool_usage_test {

using test::BlockSpec;
using test::Value;

constexpr Bytes kSize = 32 * kMiB;
constexpr Bytes kData = 4 * kMiB;

struct DiskFixture {
  test::MountedFilesystem disk{"xfs", {"mkfs.xfs", "-q"}, 512 * kMiB};
};

struct Fixture : DiskFixture, test::FilePoolFixture {
  Fixture() : FilePoolFixture(DiskFixture::disk.path() + "/pool") {}
  void Write(const VolumeId& id, Bytes size) const {
    const os::UniqueFd image(::open(ImageOf(id).c_str(), O_RDWR | O_CLOEXEC));
    const std::string bytes(static_cast<std::size_t>(size), 'x');
    REQUIRE(::pwrite(image.get(), bytes.data(), bytes.size(), 8 * kMiB) == size);
    REQUIRE(::fsync(image.get()) == 0);
  }
  VolumeId Origin(Provisioning provisioning) const {
    const VolumeId id = Create(BlockSpec("pv", kSize, provisioning)).id;
    Write(id, kData);
    return id;
  }
  VolumeId Snapshot(const VolumeId& of) const {
    VolumeSpec spec;
    spec.role = VolumeRole::kSnapshot;
    spec.name = "snap";
    spec.source = ContentSource{VolumeRole::kVolume, of};
    return Create(spec).id;
  }
  pool::PoolUsage Usage() const { return Value(pool->GetUsage()); }
};

TEST_CASE_METHOD(Fixture, "a thin snapshot shares what its volume does not overwrite") {
  const VolumeId origin = Origin(Provisioning::kThin);
  CHECK(Usage().snapshots.shared == 0);
  const VolumeId snapshot = Snapshot(origin);
  CHECK(Usage().snapshots.shared == 1);
  CHECK(Usage().blocks->snapshots_shared == kData);
  CHECK(Usage().blocks->snapshots_own == 0);
  Write(origin, kMiB);
  CHECK(Usage().blocks->snapshots_shared == kData - kMiB);
  CHECK(Usage().blocks->snapshots_own == kMiB);
  Restart();
  CHECK(Usage().blocks->snapshots_own == kMiB);
  REQUIRE_OK(pool->Delete(origin));
  test::Await([&] { return Usage().snapshots.shared == 0; });  // xfs frees blocks in its own time
  CHECK(Usage().snapshots.own == 1);
  CHECK(Usage().blocks->snapshots_own == kData);
  CHECK(Usage().blocks->to_unshare == 0);
  REQUIRE_OK(pool->DeleteSnapshot(snapshot));
  CHECK(Usage().snapshots.own == 0);
}

TEST_CASE_METHOD(Fixture, "thick copies settle until they have blocks of their own") {
  const VolumeId snapshot = Snapshot(Origin(Provisioning::kThick));
  CHECK(Usage().snapshots.settling == 1);
  CHECK(Usage().blocks->to_unshare == kData);
  CHECK(Usage().blocks->unshared == 0);
  SettleAll();
  CHECK(Usage().snapshots.settling == 0);
  CHECK(Usage().snapshots.own == 1);
  CHECK(Usage().blocks->to_unshare == 0);
  CHECK(Usage().blocks->unshared == kData);
  VolumeSpec spec = BlockSpec("copy", kSize);
  spec.source = ContentSource{VolumeRole::kSnapshot, snapshot};
  REQUIRE(Create(spec).state == VolumeState::kReady);
  CHECK(Usage().blocks->to_unshare == kData);
  SettleAll();
  CHECK(Usage().blocks->to_unshare == 0);
  CHECK(Usage().blocks->unshared == 2 * kData);
}

struct SmallSectors : DiskFixture, test::FilePoolFixture {
  SmallSectors() : FilePoolFixture(DiskFixture::disk.path() + "/pool", {{"sectorSize", "512"}}) {}
};

// Whether the volume loses direct I/O depends on the kernel.
TEST_CASE_METHOD(SmallSectors, "volumes that the kernel gives no direct I/O are counted") {
  const VolumeId origin = Create(BlockSpec("pv", kSize)).id;
  const auto image = ImageOf(origin);
  test::FilePoolFixture::WriteFile(image, std::string(kSize, 'x'));
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = "snap";
  spec.source = ContentSource{VolumeRole::kVolume, origin};
  REQUIRE(Create(spec).state == VolumeState::kReady);
  CHECK(Value(pool->GetUsage()).without_direct_io == 0);
  const os::BlockDevice device = Value(pool->MapDevice(origin, test::kWriter));
  const int index = std::stoi(device.path.substr(std::string("/dev/loop").size()));
  const bool direct = os::FileOfLoop(index)->direct_io;
  CAPTURE(direct);
  CHECK(Value(pool->GetUsage()).without_direct_io == (direct ? 0U : 1U));
  REQUIRE_OK(pool->UnmapDevice(origin));
  CHECK(Value(pool->GetUsage()).without_direct_io == 0);
}

}  // namespace file_pool_usage_test
}  // namespace holdfast::file
