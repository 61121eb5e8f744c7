// SPDX-License-Identifier: Apache-2.0
#include "file/image_evidence.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "core/disk_names.h"
#include "file/image_file.h"
#include "support/file_pool_fixture.h"
#include "support/loop_image.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace image_evidence_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;
using test::FilePoolFixture;

constexpr char kUuid[] = "7c0e4f3e-0000-4000-8000-000000000002";
constexpr char kOther[] = "11111111-2222-4333-8444-555555555555";
constexpr char kOlder[] = "the record is older than the image";

void Write(int fd, Bytes offset, const std::string& text) {
  REQUIRE(::pwrite(fd, text.data(), text.size(), offset) == static_cast<ssize_t>(text.size()));
}

// The rules for data and marks hold on every host filesystem.
void CheckEvidence(int directory_fd, Provisioning provisioning) {
  REQUIRE_OK(MakeImage(directory_fd, 4 * kMiB, provisioning));
  const os::UniqueFd image = test::Value(OpenImage(directory_fd));
  CHECK_FALSE(test::Value(HoldsData(image.get())));
  CHECK(test::Value(FormattedUuid(image.get())).empty());
  Write(image.get(), kMiB, std::string(8192, '\0'));
  CHECK_FALSE(test::Value(HoldsData(image.get())));
  Write(image.get(), 3 * kMiB - 1, "x");
  CHECK(test::Value(HoldsData(image.get())));
  CHECK(test::Value(HoldsData(image.get(), 3 * kMiB - 1)));
  CHECK_FALSE(test::Value(HoldsData(image.get(), 3 * kMiB)));
  CHECK_FALSE(test::Value(HoldsData(image.get(), 9 * kMiB)));
  REQUIRE_OK(os::RemoveFileAt(directory_fd, kImageName));
}

TEST_CASE("what an image holds is seen on every host filesystem") {
  const auto provisioning = GENERATE(Provisioning::kThick, Provisioning::kThin);
  SECTION("ext4") {
    const test::MountedFilesystem disk("ext4", {"mkfs.ext4", "-q"}, 64 * kMiB);
    CheckEvidence(disk.Root().get(), provisioning);
  }
  SECTION("xfs") {
    const test::MountedFilesystem disk("xfs", {"mkfs.xfs", "-q"}, 300 * kMiB);
    CheckEvidence(disk.Root().get(), provisioning);
  }
  SECTION("btrfs") {
    const test::MountedFilesystem disk("btrfs", {"mkfs.btrfs", "-q"}, 256 * kMiB);
    CheckEvidence(disk.Root().get(), provisioning);
  }
}

TEST_CASE("a note that an image was formatted stays with it") {
  const test::MountedFilesystem disk("ext4", {"mkfs.ext4", "-q"}, 64 * kMiB);
  const os::UniqueFd root = disk.Root();
  REQUIRE_OK(MakeImage(root.get(), kMiB, Provisioning::kThin));
  const os::UniqueFd image = test::Value(OpenImage(root.get()));
  REQUIRE_OK(MarkFormatted(image.get(), "ext4", kOther));
  REQUIRE_OK(MarkFormatted(image.get(), "ext4", kUuid));
  CHECK(test::Value(FormattedUuid(image.get())) == kUuid);
  REQUIRE(::fsetxattr(image.get(), "trusted.holdfast.formatted", "ext4 nonsense", 13, 0) == 0);
  CHECK_FAILS(FormattedUuid(image.get()), kInternal, "damaged");
}

// ramfs stores no attributes and cannot distinguish holes from data.
TEST_CASE("a host filesystem without attributes and holes does with what it has") {
  const test::TempDirectory directory;
  REQUIRE(::mount("none", directory.path().c_str(), "ramfs", 0, nullptr) == 0);
  {
    const os::UniqueFd root = test::Value(os::OpenDirectory(directory.path()));
    REQUIRE_OK(MakeImage(root.get(), 4 * kMiB, Provisioning::kThin));
    const os::UniqueFd image = test::Value(OpenImage(root.get()));
    REQUIRE_OK(MarkFormatted(image.get(), "ext4", kUuid));
    CHECK(test::Value(FormattedUuid(image.get())).empty());
    REQUIRE_OK(os::RemoveFileAt(root.get(), kImageName));
    CheckEvidence(root.get(), Provisioning::kThin);
  }
  REQUIRE(::umount2(directory.path().c_str(), UMOUNT_NOFOLLOW) == 0);
}

struct OldRecord : FilePoolFixture {
  OldRecord() { (void)Create(BlockSpec("old", 2 * kMiB)); }
  void Use() const {
    const os::UniqueFd image(::open(ImageOf(id).c_str(), O_RDWR | O_CLOEXEC));
    Write(image.get(), kMiB, "precious");
  }
  void Mark(const std::string& uuid) const {
    const os::UniqueFd image(::open(ImageOf(id).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE_OK(MarkFormatted(image.get(), "ext4", uuid));
  }
  // No call and no round of the reconciler removes anything, and each says why.
  void CheckKept() {
    const std::string image = ReadFile(ImageOf(id));
    const std::string record = ReadFile(PathOf(id, "record.json"));
    CHECK_FAILS(pool->Repair(id), kFailedPrecondition, kOlder);
    CHECK_FAILS(pool->Create(BlockSpec("old", 2 * kMiB)), kFailedPrecondition, kOlder);
    CHECK_FAILS(pool->Get(id), kFailedPrecondition, kOlder);
    CHECK_FAILS(pool->MapDevice(id, test::kWriter), kFailedPrecondition, kOlder);
    CHECK_FAILS(pool->Grow(id, 4 * kMiB, 0), kFailedPrecondition, kOlder);
    CHECK(test::Value(pool->FindLeftovers()).at(0).kind == LeftoverKind::kDamagedVolume);
    Restart();
    CHECK((ReadFile(ImageOf(id)) == image));
    CHECK(ReadFile(PathOf(id, "record.json")) == record);
    const pool::PoolUsage usage =
        test::Value(pool->GetUsage());  // its space is not given to other volumes
    CHECK(usage.thick_provisioned + usage.thin_provisioned == 2 * kMiB);
  }

  const VolumeId id = pool->IdForName("old");
};

TEST_CASE_METHOD(OldRecord, "a record of an unfinished creation removes no volume that was used") {
  SetState(id, VolumeState::kAllocating);
  SECTION("its image holds data") { Use(); }
  SECTION("its image was formatted") { Mark(kUuid); }
  CHECK_FAILS(pool->Delete(id), kFailedPrecondition, kOlder);
  CheckKept();
  SetState(id, VolumeState::kReady);  // the newer record
  CHECK(test::Value(pool->Get(id)).capacity_bytes == 2 * kMiB);
}

TEST_CASE_METHOD(OldRecord, "a tombstone removes no later volume of the same name") {
  Use();
  Mark(kUuid);
  ChangeRecord(id, [](pool::VolumeRecord& record) {
    record.volume.state = VolumeState::kDeleting;
    record.volume.filesystem_uuid = kOther;
  });
  CheckKept();
  SECTION("but a call that asks for it now does") { REQUIRE_OK(pool->Delete(id)); }
  SECTION("but the volume's own does") {
    ChangeRecord(id, [](pool::VolumeRecord& record) { record.volume.filesystem_uuid = kUuid; });
    CHECK(test::Value(pool->Repair(id)));
  }
  CHECK_FALSE(stdfs::exists(PathOf(id)));
}

}  // namespace image_evidence_test
}  // namespace holdfast::file
