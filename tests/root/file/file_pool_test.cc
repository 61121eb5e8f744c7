// SPDX-License-Identifier: Apache-2.0
// A file pool's volumes from creation to deletion, without their devices.
#include "file/file_pool.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "file/image_file.h"
#include "support/file_pool_fixture.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace file_pool_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;
using test::FilePoolFixture;
using test::MountSpec;

TEST_CASE_METHOD(FilePoolFixture, "a volume is made, found, listed and deleted") {
  const Volume volume = Create(MountSpec("pvc-1"));
  CHECK(volume.name == "pvc-1");
  CHECK(volume.id.pool == "default");
  CHECK(volume.id.node == "n1");
  CHECK(volume.id == pool->IdForName("pvc-1"));
  CHECK(volume.state == VolumeState::kReady);
  CHECK(volume.capacity_bytes == 32 * kMiB);
  CHECK(test::Value(pool->Get(volume.id)).created_at == volume.created_at);
  REQUIRE(pool->List("", 0).value().size() == 1);
  CHECK(pool->List("", 0).value()[0].id == volume.id);
  REQUIRE_OK(pool->Delete(volume.id));
  CHECK_FAILS(pool->Get(volume.id), kNotFound, "");
  CHECK(pool->List("", 0).value().empty());
  CHECK_FALSE(stdfs::exists(PathOf(volume.id)));
  CHECK(stdfs::is_empty(pool_path() + "/trash"));
}

TEST_CASE_METHOD(FilePoolFixture, "a volume survives the process") {
  VolumeSpec spec = MountSpec("pvc-1");
  spec.mkfs_options = {"-m", "0"};
  spec.parameters = {{"provisioning", "thin"}};
  const Volume volume = Create(spec);
  Restart();
  const Volume again = test::Value(pool->Get(volume.id));
  CHECK(again.name == volume.name);
  CHECK(again.mkfs_options == spec.mkfs_options);
  CHECK(again.parameters == spec.parameters);
  REQUIRE(pool->List("", 0).value().size() == 1);
  CHECK(Create(spec).id == volume.id);
}

TEST_CASE_METHOD(FilePoolFixture, "what a name says never reaches a path") {
  for (const char* name : {"../../escape", "/etc/passwd", ".", "a\nb", "grüße"}) {
    const Volume volume = Create(BlockSpec(name));
    CHECK(IsUuid(volume.id.uuid));
    CHECK(test::Value(pool->Get(volume.id)).name == name);
  }
  std::size_t directories = 0;
  for (const auto& entry : stdfs::directory_iterator(pool_path() + "/volumes")) {
    CHECK(IsUuid(entry.path().filename().string()));
    ++directories;
  }
  CHECK(directories == 5);
  const std::vector<Volume> all = pool->List("", 0).value();
  for (const Volume& volume : all) REQUIRE_OK(pool->Delete(volume.id));
}

TEST_CASE_METHOD(FilePoolFixture, "files and directories of a volume are the owner's alone") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  struct stat facts {};
  for (const auto& [file, mode] : {std::pair("", 0700), {"image", 0600}, {"record.json", 0600}}) {
    CAPTURE(file);
    REQUIRE(::stat(PathOf(volume.id, file).c_str(), &facts) == 0);
    CHECK(static_cast<int>(facts.st_mode & 07777) == mode);
  }
}

TEST_CASE_METHOD(FilePoolFixture, "creating twice is creating once") {
  const VolumeSpec spec = BlockSpec("pvc-1", 2 * kMiB);
  const Volume first = Create(spec);
  const Volume second = Create(spec);
  CHECK(second.id == first.id);
  CHECK(second.created_at == first.created_at);
  CHECK(pool->List("", 0).value().size() == 1);
  CHECK(test::Value(pool->GetUsage()).thick_provisioned == 2 * kMiB);
}

TEST_CASE_METHOD(FilePoolFixture, "the same name with other properties is another volume's name") {
  VolumeSpec spec = MountSpec("pvc-1");
  spec.mkfs_options = {"-m", "0"};
  spec.parameters = {{"pool", "default"}};
  (void)Create(spec);
  const auto changed = [&](auto change) {
    VolumeSpec other = spec;
    change(other);
    return pool->Create(other);
  };
  using S = VolumeSpec;
  CHECK_FAILS(changed([](S& s) { s.capacity.required = 33 * kMiB; }), kAlreadyExists, "capacity");
  CHECK_FAILS(changed([](S& s) {
                s.capacity.required = kMiB;
                s.capacity.limit = 31 * kMiB;
              }),
              kAlreadyExists, "capacity");
  CHECK_FAILS(changed([](S& s) { s.provisioning = Provisioning::kThick; }), kAlreadyExists,
              "provisioning");
  CHECK_FAILS(changed([](S& s) {
                s.access_type = AccessType::kBlock;
                s.filesystem = "";
              }),
              kAlreadyExists, "access type");
  CHECK_FAILS(changed([](S& s) { s.filesystem = "xfs"; }), kAlreadyExists, "filesystem");
  CHECK_FAILS(changed([](S& s) { s.mkfs_options = {}; }), kAlreadyExists, "parameters");
  CHECK_FAILS(changed([](S& s) { s.parameters = {}; }), kAlreadyExists, "parameters");
  REQUIRE_OK(changed([](S& s) { s.capacity.required = kMiB; }));  // it is large enough for that
  REQUIRE_OK(changed([](S& s) { s.capacity.limit = 32 * kMiB; }));
}

TEST_CASE_METHOD(FilePoolFixture, "deleting what is not there is done already") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  REQUIRE_OK(pool->Delete(volume.id));
  REQUIRE_OK(pool->Delete(volume.id));
  REQUIRE_OK(pool->Delete(pool->IdForName("never made")));
}

TEST_CASE_METHOD(FilePoolFixture, "a name is free again after deletion, and the bytes are new") {
  const Volume first = Create(BlockSpec("pvc-1"));
  WriteFile(ImageOf(first.id), std::string(kMiB, 'x'));
  REQUIRE_OK(pool->Delete(first.id));
  const Volume second = Create(BlockSpec("pvc-1", 2 * kMiB));
  CHECK(second.id == first.id);
  CHECK((ReadFile(ImageOf(second.id)) == std::string(2 * kMiB, '\0')));
}

TEST_CASE_METHOD(FilePoolFixture, "thick is thick and thin is thin") {
  const Volume thick = Create(BlockSpec("thick", 4 * kMiB, Provisioning::kThick));
  const Volume thin = Create(BlockSpec("thin", 4 * kMiB, Provisioning::kThin));
  struct stat facts {};
  REQUIRE(::stat(ImageOf(thick.id).c_str(), &facts) == 0);
  CHECK(facts.st_blocks * 512 >= 4 * kMiB);
  REQUIRE(::stat(ImageOf(thin.id).c_str(), &facts) == 0);
  CHECK(facts.st_blocks == 0);
  CHECK(facts.st_size == 4 * kMiB);
}

TEST_CASE_METHOD(FilePoolFixture, "a volume that does not fit is refused and leaves nothing") {
  CHECK_FAILS(pool->Create(BlockSpec("huge", Bytes{1} << 60)), kResourceExhausted, "does not fit");
  CHECK_FAILS(pool->Create(BlockSpec("huge", Bytes{1} << 60, Provisioning::kThin)),
              kResourceExhausted, "does not fit");
  VolumeSpec contradiction = BlockSpec("none", 4097);
  contradiction.capacity.limit = 8191;
  CHECK_FAILS(pool->Create(contradiction), kOutOfRange, "limit_bytes");
  CHECK(stdfs::is_empty(pool_path() + "/volumes"));
  CHECK(test::Value(pool->GetUsage()).thick_provisioned == 0);
}

TEST_CASE_METHOD(FilePoolFixture, "usage and capacity tell what was promised") {
  (void)Create(BlockSpec("thick", 8 * kMiB, Provisioning::kThick));
  (void)Create(BlockSpec("thin", 16 * kMiB, Provisioning::kThin));
  for (int start = 0; start < 2; ++start) {
    const pool::PoolUsage usage = test::Value(pool->GetUsage());
    CHECK(usage.thick_provisioned == 8 * kMiB);
    CHECK(usage.thin_provisioned == 16 * kMiB);
    CHECK(usage.volumes == 2);
    CHECK(usage.free <= usage.total);
    CHECK(usage.reserve > 0);
    CHECK(usage.thick_available + usage.reserve <= usage.free);
    const PoolCapacity capacity = test::Value(pool->GetCapacity(Provisioning::kThick));
    CHECK(capacity.maximum_volume_bytes == capacity.available_bytes);
    CHECK(capacity.minimum_volume_bytes == kVolumeGranularity);
    Restart();
  }
}

TEST_CASE_METHOD(FilePoolFixture, "without its marker a pool does nothing at all") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  stdfs::rename(pool_path() + "/holdfast-pool.json", pool_path() + "/away");
  CHECK_FAILS(pool->CheckReady(), kFailedPrecondition, "not the one that was opened");
  CHECK_FAILS(pool->Create(BlockSpec("pvc-2")), kFailedPrecondition, "");
  CHECK_FAILS(pool->Create(BlockSpec("pvc-1")), kFailedPrecondition, "");
  CHECK_FAILS(pool->Delete(volume.id), kFailedPrecondition, "");
  CHECK_FAILS(pool->Get(volume.id), kFailedPrecondition, "");
  CHECK_FAILS(pool->Grow(volume.id, 2 * kMiB, 0), kFailedPrecondition, "");
  CHECK_FAILS(pool->MapDevice(volume.id, test::kWriter), kFailedPrecondition, "");
  CHECK_FAILS(pool->GetCapacity(Provisioning::kThin), kFailedPrecondition, "");
  CHECK_FAILS(pool->GetUsage(), kFailedPrecondition, "");
  CHECK_FAILS(pool->Recover(), kFailedPrecondition, "");
  CHECK(pool->Condition(volume).abnormal);
  stdfs::rename(pool_path() + "/away", pool_path() + "/holdfast-pool.json");
  REQUIRE_OK(pool->CheckReady());
  REQUIRE_OK(pool->Get(volume.id));
  CHECK(ReadFile(ImageOf(volume.id)).size() == kMiB);
}

TEST_CASE_METHOD(FilePoolFixture, "a pool that is served is not served twice") {
  CHECK_FAILS(FilePool::Open(config(), "n1", state.get()), kAborted, "another process");
}

}  // namespace file_pool_test
}  // namespace holdfast::file
