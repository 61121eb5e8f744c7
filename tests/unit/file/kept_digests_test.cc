// SPDX-License-Identifier: Apache-2.0
#include "file/kept_digests.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "core/disk_names.h"
#include "file/digest_making.h"
#include "os/file.h"
#include "os/unique_fd.h"
#include "pool/volume_record.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::file {
namespace kept_digests_test {

constexpr Bytes kCapacity = 2 * kDigestBlock;
const std::string kVolume = "5b0cf0a4-58e5-5b9e-8f0f-2d5c8f4d0001";
const std::string kOther = "5b0cf0a4-58e5-5b9e-8f0f-2d5c8f4d0002";

std::string SnapshotUuid(int number) {
  return fmt::format("5b0cf0a4-58e5-5b9e-8f0f-2d5c8f4d1{:03}", number);
}

// A pool's directory, and in its trash a deleted snapshot with its files.
struct Pool {
  test::TempDirectory root;

  os::UniqueFd Delete(const std::string& snapshot, const std::string& volume = kVolume,
                      bool with_table = true) const {
    REQUIRE_OK(os::MakeDirectoryAt(root.fd(), snapshot, 0700));
    os::UniqueFd directory = test::Value(os::OpenDirectoryAt(root.fd(), snapshot));
    pool::VolumeRecord record;
    record.volume.role = VolumeRole::kSnapshot;
    record.volume.id.uuid = snapshot;
    record.volume.name = "snap";
    record.volume.access_type = AccessType::kBlock;
    record.volume.state = VolumeState::kDeleting;
    record.volume.capacity_bytes = kCapacity;
    record.volume.source = ContentSource{.role = VolumeRole::kVolume,
                                         .id = {.pool = "p", .node = "n", .uuid = volume}};
    REQUIRE_OK(os::WriteFileDurably(directory.get(), kRecordName, pool::EncodeRecord(record)));
    const os::UniqueFd image(
        ::openat(directory.get(), kImageName, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::ftruncate(image.get(), kCapacity) == 0);
    REQUIRE(::pwrite(image.get(), snapshot.data(), snapshot.size(), 0) > 0);
    Bytes reached = 0;
    if (with_table) {
      REQUIRE(test::Value(MakeDigestTable(
          directory.get(), image.get(),
          {.snapshot = snapshot, .volume = volume, .capacity = kCapacity}, nullptr, reached)));
    }
    return directory;
  }
  absl::Status Keep(const os::UniqueFd& directory, const std::string& snapshot) const {
    return KeepTable(root.fd(), directory.get(), snapshot);
  }
  // As Purge does afterwards.
  void Remove(const os::UniqueFd& directory, const std::string& snapshot) const {
    for (const char* name : {kImageName, kDigestsName, kRecordName}) {
      REQUIRE_OK(os::RemoveFileAt(directory.get(), name));
    }
    REQUIRE_OK(os::RemoveEmptyDirectoryAt(root.fd(), snapshot));
  }
  bool HasKept(const std::string& snapshot) const {
    return test::Value(OpenKeptTable(root.fd(), snapshot)).has_value();
  }
};

TEST_CASE("a table outlives its snapshot, also if the deletion is repeated") {
  const Pool pool;
  const std::string snapshot = SnapshotUuid(1);
  CHECK_FALSE(pool.HasKept(snapshot));
  const os::UniqueFd directory = pool.Delete(snapshot);
  for (int time = 0; time < 2; ++time) {
    REQUIRE_OK(pool.Keep(directory, snapshot));
    CHECK_FALSE(os::ExistsAt(directory.get(), kDigestsName));
    CHECK(pool.HasKept(snapshot));
  }
  REQUIRE_OK(os::RemoveFileAt(directory.get(), kImageName));
  REQUIRE_OK(pool.Keep(directory, snapshot));
  const auto kept = test::Value(OpenKeptTable(pool.root.fd(), snapshot));
  REQUIRE(kept);
  CHECK(kept->header().snapshot == snapshot);
  CHECK(kept->header().volume == kVolume);
  CHECK(kept->header().capacity == kCapacity);
}

TEST_CASE("a kept table is told from the table of what is in the trash") {
  const Pool pool;  // which is its own trash here
  const std::string snapshot = SnapshotUuid(1);
  const os::UniqueFd first = pool.Delete(snapshot);
  REQUIRE_OK(pool.Keep(first, snapshot));
  const auto is_of = [&] {
    const auto kept = test::Value(OpenKeptTable(pool.root.fd(), snapshot));
    return test::Value(IsOfWhatIsInTrash(*kept, pool.root.fd()));
  };
  CHECK(is_of());
  REQUIRE_OK(os::RemoveFileAt(first.get(), kImageName));
  CHECK(is_of());
  pool.Remove(first, snapshot);
  CHECK(is_of());
  const os::UniqueFd second = pool.Delete(snapshot);
  CHECK_FALSE(is_of());
}

TEST_CASE("the table of an earlier snapshot of the UUID goes with the later one") {
  const Pool pool;
  const std::string snapshot = SnapshotUuid(1);
  const os::UniqueFd first = pool.Delete(snapshot);
  REQUIRE_OK(pool.Keep(first, snapshot));
  const std::string image = test::Value(OpenKeptTable(pool.root.fd(), snapshot))->header().image;
  pool.Remove(first, snapshot);
  SECTION("which has none") {
    const os::UniqueFd second = pool.Delete(snapshot, kVolume, /*with_table=*/false);
    REQUIRE_OK(pool.Keep(second, snapshot));
    CHECK_FALSE(pool.HasKept(snapshot));
  }
  SECTION("which has one") {
    const os::UniqueFd second = pool.Delete(snapshot);
    REQUIRE_OK(pool.Keep(second, snapshot));
    CHECK(test::Value(OpenKeptTable(pool.root.fd(), snapshot))->header().image != image);
  }
  SECTION("which was of another volume") {
    const os::UniqueFd second = pool.Delete(snapshot, kOther);
    REQUIRE_OK(pool.Keep(second, snapshot));
    CHECK(test::Value(ListKeptTables(pool.root.fd())) ==
          std::vector<KeptTable>{{.snapshot = snapshot, .volume = kOther}});
  }
  SECTION("which is damaged") {
    const os::UniqueFd second = pool.Delete(snapshot);
    REQUIRE_OK(os::WriteFileDurably(second.get(), kRecordName, "{}"));
    REQUIRE_OK(pool.Keep(second, snapshot));
    CHECK_FALSE(pool.HasKept(snapshot));
  }
  SECTION("which is made") {
    REQUIRE_OK(RemoveKeptTablesOf(pool.root.fd(), snapshot));
    CHECK_FALSE(pool.HasKept(snapshot));
  }
}

TEST_CASE("what is not certainly the table of the deleted snapshot is not kept") {
  const Pool pool;
  const std::string snapshot = SnapshotUuid(1);
  const os::UniqueFd directory = pool.Delete(snapshot);
  SECTION("the image was written to") {
    const os::UniqueFd image = test::Value(os::OpenFileAt(directory.get(), kImageName, O_RDWR));
    REQUIRE(::pwrite(image.get(), "y", 1, 0) == 1);
  }
  SECTION("another snapshot's") {
    const os::UniqueFd other = pool.Delete(SnapshotUuid(2));
    REQUIRE(::renameat(other.get(), kDigestsName, directory.get(), kDigestsName) == 0);
  }
  SECTION("cut short") {
    const os::UniqueFd table = test::Value(os::OpenFileAt(directory.get(), kDigestsName, O_RDWR));
    REQUIRE(::ftruncate(table.get(), 4096) == 0);
  }
  SECTION("of a volume") {
    auto record =
        test::Value(pool::DecodeRecord(test::Value(os::ReadFileAt(directory.get(), kRecordName))));
    record.volume.role = VolumeRole::kVolume;
    REQUIRE_OK(os::WriteFileDurably(directory.get(), kRecordName, pool::EncodeRecord(record)));
  }
  REQUIRE_OK(pool.Keep(directory, snapshot));
  CHECK_FALSE(pool.HasKept(snapshot));
}

TEST_CASE("a table under another name, or one of two, is none") {
  const Pool pool;
  const std::string snapshot = SnapshotUuid(1);
  const os::UniqueFd directory = pool.Delete(snapshot);
  REQUIRE_OK(pool.Keep(directory, snapshot));
  const os::UniqueFd kept = test::Value(os::OpenDirectoryAt(pool.root.fd(), kKeptDigestsName));
  const std::string name = snapshot + "." + kVolume;
  REQUIRE(::linkat(kept.get(), name.c_str(), kept.get(), (SnapshotUuid(2) + "." + kVolume).c_str(),
                   0) == 0);
  CHECK_FALSE(pool.HasKept(SnapshotUuid(2)));
  CHECK(pool.HasKept(snapshot));
  REQUIRE(::linkat(kept.get(), name.c_str(), kept.get(), (snapshot + "." + kOther).c_str(), 0) ==
          0);
  CHECK_FALSE(pool.HasKept(snapshot));
  REQUIRE(::unlinkat(kept.get(), name.c_str(), 0) == 0);
  CHECK_FALSE(pool.HasKept(snapshot));
}

TEST_CASE("of each volume the tables that were made last are needed") {
  const Pool pool;
  CHECK(test::Value(FindUnneededTables(pool.root.fd(), {})).empty());
  const int count = static_cast<int>(kMostKeptTables) + 2;
  for (int number = 0; number < count; ++number) {
    const std::string snapshot = SnapshotUuid(number);
    const os::UniqueFd directory = pool.Delete(snapshot);
    const os::UniqueFd table = test::Value(os::OpenFileAt(directory.get(), kDigestsName, O_RDWR));
    const timespec time{.tv_sec = 1000 - number, .tv_nsec = 0};
    const timespec times[] = {time, time};
    REQUIRE(::futimens(table.get(), times) == 0);
    REQUIRE_OK(pool.Keep(directory, snapshot));
  }
  const os::UniqueFd other = pool.Delete(SnapshotUuid(100), kOther);
  REQUIRE_OK(pool.Keep(other, SnapshotUuid(100)));
  const os::UniqueFd kept = test::Value(os::OpenDirectoryAt(pool.root.fd(), kKeptDigestsName));
  REQUIRE_OK(os::WriteFileDurably(kept.get(), "notes", "the administrator's"));
  const std::vector<KeptTable> oldest = {{.snapshot = SnapshotUuid(count - 2), .volume = kVolume},
                                         {.snapshot = SnapshotUuid(count - 1), .volume = kVolume}};
  CHECK(test::Value(FindUnneededTables(pool.root.fd(), {kVolume, kOther})) == oldest);
  CHECK(test::Value(FindUnneededTables(pool.root.fd(), {kOther})).size() ==
        static_cast<std::size_t>(count));
  CHECK(test::Value(FindUnneededTables(pool.root.fd(), {})).size() ==
        static_cast<std::size_t>(count) + 1);
  REQUIRE_OK(RemoveKeptTable(pool.root.fd(), oldest.front()));
  REQUIRE_OK(RemoveKeptTable(pool.root.fd(), oldest.front()));
  CHECK_FALSE(pool.HasKept(oldest.front().snapshot));
  CHECK(os::ExistsAt(kept.get(), "notes"));
}

}  // namespace kept_digests_test
}  // namespace holdfast::file
