// SPDX-License-Identifier: Apache-2.0
// The trash of a real file pool: what is on the disk, and what a restart makes of it.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/trash_id.h"
#include "os/file.h"
#include "support/file_pool_fixture.h"
#include "support/outcome.h"

namespace holdfast::file {
namespace file_pool_trash_test {

namespace stdfs = std::filesystem;
using test::BlockSpec;
using test::MountSpec;
using test::Value;

struct Fixture : test::FilePoolFixture {
  explicit Fixture(PoolKeys keys = {{"keepDeleted", "24h"}})
      : FilePoolFixture("", std::move(keys)) {}

  [[nodiscard]] std::vector<pool::TrashEntry> Trash() const { return Value(pool->ListTrash()); }
  [[nodiscard]] pool::TrashEntry DeleteOne(const Volume& volume) const {
    const std::size_t before = Trash().size();
    REQUIRE_OK(pool->Delete(volume.id));
    const auto entries = Trash();
    REQUIRE(entries.size() == before + 1);
    for (const pool::TrashEntry& entry : entries) {
      if (entry.id.place() == volume.id) return entry;
    }
    FAIL("no entry");
    return {};
  }
  [[nodiscard]] std::string PathIn(const TrashId& id, const std::string& file = "") const {
    return pool_path() + "/trash/" + id.key + (file.empty() ? "" : "/" + file);
  }
  [[nodiscard]] Bytes Promised() const {
    const pool::PoolUsage usage = Value(pool->GetUsage());
    return usage.thick_provisioned + usage.thin_provisioned;
  }
};

TEST_CASE_METHOD(Fixture, "a deleted volume is in the trash, and comes back") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  std::ofstream(ImageOf(volume.id), std::ios::in | std::ios::out) << "data";
  const pool::TrashEntry entry = DeleteOne(volume);
  CHECK(entry.volume == volume);
  CHECK(entry.keep == std::chrono::hours(24));
  CHECK(entry.allocated == kMiB);
  CHECK_FALSE(stdfs::exists(PathOf(volume.id)));
  CHECK(stdfs::exists(PathIn(entry.id, "image")));
  CHECK(Promised() == kMiB);
  const pool::PoolUsage usage = Value(pool->GetUsage());
  CHECK(usage.volumes == 0);
  CHECK(usage.trash.entries == 1);
  CHECK(usage.trash.allocated == kMiB);
  CHECK_FAILS(pool->MapDevice(volume.id, test::kWriter), kNotFound, "");
  CHECK(Value(pool->FindLeftovers()).empty());
  if (GENERATE(false, true)) Restart();
  CHECK(Trash().size() == 1);
  CHECK(Promised() == kMiB);
  CHECK(Value(pool->RestoreTrash(entry.id)) == volume);
  CHECK(Value(pool->Get(volume.id)) == volume);
  CHECK(stdfs::is_empty(pool_path() + "/trash"));
  std::string data(4, ' ');
  std::ifstream(ImageOf(volume.id)).read(data.data(), 4);
  CHECK(data == "data");
  REQUIRE_OK(pool->Delete(volume.id));
  REQUIRE_OK(pool->PurgeTrash(Trash().at(0).id));
  CHECK(stdfs::is_empty(pool_path() + "/trash"));
  CHECK(Promised() == 0);
}

TEST_CASE_METHOD(Fixture, "a new volume of the name is empty, whatever is in the trash") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  std::ofstream(ImageOf(volume.id), std::ios::in | std::ios::out) << "data";
  const pool::TrashEntry entry = DeleteOne(volume);
  REQUIRE(Create(BlockSpec("pvc-1")).id == volume.id);
  std::string data(4, ' ');
  std::ifstream(ImageOf(volume.id)).read(data.data(), 4);
  CHECK(data == std::string(4, '\0'));
  CHECK_FAILS(pool->RestoreTrash(entry.id), kAlreadyExists, "delete it first");
  REQUIRE_OK(pool->PurgeTrash(entry.id));
  CHECK(Value(pool->Get(volume.id)).id == volume.id);
  CHECK_FAILS(pool->PurgeTrash(entry.id), kNotFound, "");
}

TEST_CASE_METHOD(Fixture, "an entry without a note says by its name when it was deleted") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const pool::VolumeRecord before = ReadRecord(volume.id);
  const pool::TrashEntry entry = DeleteOne(volume);
  WriteFile(PathIn(entry.id, "record.json"), pool::EncodeRecord(before));  // the disk is full
  Restart();
  REQUIRE(Trash().size() == 1);
  CHECK(Trash().at(0).deleted_at == entry.deleted_at);
  CHECK(Trash().at(0).keep == std::chrono::hours(24));
  CHECK(Value(pool->RestoreTrash(entry.id)) == volume);
}

TEST_CASE_METHOD(Fixture, "what cannot be believed is reported, and left alone") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const pool::TrashEntry entry = DeleteOne(volume);
  Stop();
  SECTION("a damaged record") { WriteFile(PathIn(entry.id, "record.json"), "{}"); }
  SECTION("a missing record") { stdfs::remove(PathIn(entry.id, "record.json")); }
  SECTION("the record of another volume") {
    pool::VolumeRecord other = Value(pool::DecodeRecord(
        Value(os::ReadFileAt(Value(os::OpenDirectory(PathIn(entry.id))).get(), "record.json"))));
    other.volume.id.uuid = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";
    other.trashed->key = TrashKey(other.volume.id.uuid, absl::UnixEpoch());
    WriteFile(PathIn(entry.id, "record.json"), pool::EncodeRecord(other));
  }
  Start();
  CHECK(Trash().empty());
  const auto leftovers = Value(pool->FindLeftovers());
  REQUIRE(leftovers.size() == 1);
  CHECK(leftovers[0].kind == LeftoverKind::kTrash);
  CHECK(leftovers[0].subject == entry.id.ToString());
  CHECK_FAILS(pool->TendTrash(entry.id), kInternal, "");
  CHECK_FAILS(pool->RestoreTrash(entry.id), kInternal, "");
  CHECK_FAILS(pool->PurgeTrash(entry.id), kInternal, "");
  CHECK(stdfs::exists(PathIn(entry.id, "image")));
}

TEST_CASE_METHOD(Fixture, "an image that is another one is neither restored nor purged") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const pool::TrashEntry entry = DeleteOne(volume);
  SECTION("it is too short") {
    stdfs::resize_file(PathIn(entry.id, "image"), kMiB / 2);
    CHECK_FAILS(pool->RestoreTrash(entry.id), kFailedPrecondition, "truncated");
    CHECK(Trash().size() == 1);
  }
  SECTION("it is gone") {
    stdfs::remove(PathIn(entry.id, "image"));
    CHECK_FAILS(pool->RestoreTrash(entry.id), kFailedPrecondition, "");
    REQUIRE_OK(pool->PurgeTrash(entry.id));
  }
  SECTION("a file that Holdfast did not make stays") {
    WriteFile(PathIn(entry.id, "notes"), "mine");
    CHECK_FALSE(pool->PurgeTrash(entry.id).ok());
    CHECK(stdfs::exists(PathIn(entry.id, "notes")));
    stdfs::remove(PathIn(entry.id, "notes"));
    CHECK(Value(pool->TendTrash(entry.id)));
    CHECK(stdfs::is_empty(pool_path() + "/trash"));
  }
}

struct Short : Fixture {
  Short() : Fixture(PoolKeys{{"keepDeleted", "1s"}}) {}
};

TEST_CASE_METHOD(Short, "what is due is found and purged") {
  const Volume volume = Create(BlockSpec("pvc-1"));
  const pool::TrashEntry entry = DeleteOne(volume);
  std::vector<Leftover> due;
  while (Trash().at(0).kept < std::chrono::seconds(1)) continue;
  due = Value(pool->FindLeftovers());
  REQUIRE(due.size() == 1);
  CHECK(due[0].subject == entry.id.ToString());
  CHECK(Value(pool->TendTrash(entry.id)));
  CHECK(Trash().empty());
  CHECK(stdfs::is_empty(pool_path() + "/trash"));
}

struct Reclaiming : Fixture {
  Reclaiming()
      : Fixture(PoolKeys{{"keepDeleted", "24h"}, {"trash", "reclaim"}, {"reserve", "0"}}) {}
};

TEST_CASE_METHOD(Reclaiming, "the oldest is purged for a volume that would not fit") {
  const Bytes all = Value(pool->GetCapacity(Provisioning::kThin)).available_bytes;
  VolumeSpec spec = MountSpec("pvc-1", "ext4", AlignDown(2 * (all / 5), kVolumeGranularity));
  const pool::TrashEntry first = DeleteOne(Create(spec));
  spec.name = "pvc-2";
  const pool::TrashEntry second = DeleteOne(Create(spec));
  // Their space is kept, although nothing was written to them.
  CHECK(Value(pool->GetCapacity(Provisioning::kThin)).available_bytes < all / 3);
  spec.name = "pvc-3";
  REQUIRE_OK(pool->Create(spec).status());
  REQUIRE(Trash().size() == 1);
  spec.name = "pvc-4";
  spec.capacity.required = 2 * all;
  CHECK_FAILS(pool->Create(spec), kResourceExhausted, "does not fit");
  CHECK(Trash().size() == 1);
}

}  // namespace file_pool_trash_test
}  // namespace holdfast::file
