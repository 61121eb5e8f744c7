// SPDX-License-Identifier: Apache-2.0
#include "file/record_store.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <string>

#include "os/file.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::file {
namespace record_store_test {

std::string Uuid(int number) { return fmt::format("0b7f1f2a-58e5-5b9e-8f0f-{:012d}", number); }

pool::VolumeRecord Record(int number, VolumeState state = VolumeState::kReady) {
  pool::VolumeRecord record;
  record.volume.id.uuid = Uuid(number);
  record.volume.name = fmt::format("pvc-{}", number);
  record.volume.capacity_bytes = kMiB;
  record.volume.access_type = AccessType::kBlock;
  record.volume.state = state;
  record.volume.created_at = "2026-01-31T23:59:59Z";
  return record;
}

struct Fixture {
  test::TempDirectory volumes;
  RecordStore store;

  void WriteRaw(int number, const std::string& name, const std::string& text) const {
    REQUIRE_OK(os::MakeDirectoryAt(volumes.fd(), Uuid(number), 0700));
    const auto directory = test::Value(os::OpenDirectoryAt(volumes.fd(), Uuid(number)));
    REQUIRE_OK(os::WriteFileDurably(directory.get(), name, text));
  }
};

TEST_CASE_METHOD(Fixture, "a record that was written is read, also by another store") {
  REQUIRE_OK(store.Write(volumes.fd(), Record(1)));
  RecordStore other;
  CHECK(other.Count(VolumeRole::kVolume) == 0);
  const pool::VolumeRecord read = test::Value(other.Read(volumes.fd(), Uuid(1)));
  CHECK(read.volume.name == "pvc-1");
  CHECK_FALSE(other.Lists(Uuid(1)));
  other.Remember(read.volume);
  CHECK(other.Lists(Uuid(1)));
  struct stat facts {};
  REQUIRE(::stat(volumes.path(Uuid(1)).c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0700);
  REQUIRE(::stat(volumes.path(Uuid(1) + "/record.json").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
}

TEST_CASE_METHOD(Fixture, "copies under way are found by their source, and volumes not listed") {
  const ContentSource source{VolumeRole::kVolume, {"p", "n", Uuid(1)}};
  const auto copying = [&](int number, VolumeRole role, VolumeState state) {
    pool::VolumeRecord copy = Record(number, state);
    copy.volume.role = role;
    copy.volume.source = source;
    if (state == VolumeState::kCopying) copy.copy = pool::CopyProgress{};
    return copy;
  };
  for (const VolumeState state : {VolumeState::kCopying, VolumeState::kReady}) {
    REQUIRE_OK(store.Write(volumes.fd(), copying(2, VolumeRole::kSnapshot, state)));
    REQUIRE_OK(store.Write(volumes.fd(), copying(3, VolumeRole::kVolume, state)));
    const bool under_way = state == VolumeState::kCopying;
    const std::vector<std::string> both{Uuid(2), Uuid(3)};
    CHECK(store.CopiesUnderWay(source) == (under_way ? both : std::vector<std::string>{}));
    CHECK(store.CopiesUnderWay({VolumeRole::kSnapshot, source.id}).empty());
    CHECK(store.CopiesUnderWay({VolumeRole::kVolume, {"p", "n", Uuid(2)}}).empty());
    CHECK(store.List(VolumeRole::kSnapshot, "", 0).size() == 1);
    CHECK(store.List(VolumeRole::kVolume, "", 0).empty() == under_way);
  }
  REQUIRE_OK(store.Write(volumes.fd(), copying(2, VolumeRole::kSnapshot, VolumeState::kCopying)));
  store.Forget(Uuid(2));
  CHECK(store.CopiesUnderWay(source).empty());
}

TEST_CASE_METHOD(Fixture, "no directory, no volume") {
  CHECK_FAILS(store.Read(volumes.fd(), Uuid(1)), kNotFound, Uuid(1));
}

TEST_CASE_METHOD(Fixture, "the disk is the truth, and reading it does not change the list") {
  REQUIRE_OK(store.Write(volumes.fd(), Record(1)));
  pool::VolumeRecord changed = Record(1);
  changed.volume.capacity_bytes = 2 * kMiB;
  WriteRaw(1, "record.json", pool::EncodeRecord(changed));
  CHECK(test::Value(store.Read(volumes.fd(), Uuid(1))).volume.capacity_bytes == 2 * kMiB);
  // A call that read the record before a deletion must not bring the volume back.
  const pool::VolumeRecord old = test::Value(store.Read(volumes.fd(), Uuid(1)));
  REQUIRE_OK(store.Write(volumes.fd(), Record(1, VolumeState::kDeleting)));
  store.Forget(Uuid(1));
  CHECK(test::Value(store.Read(volumes.fd(), Uuid(1))).volume.state == VolumeState::kDeleting);
  CHECK(store.List(VolumeRole::kVolume, "", 0).empty());
  WriteRaw(1, "record.json", pool::EncodeRecord(old));
  CHECK(test::Value(store.Read(volumes.fd(), Uuid(1))).volume.state == VolumeState::kReady);
  CHECK(store.List(VolumeRole::kVolume, "", 0).empty());
}

TEST_CASE_METHOD(Fixture, "a directory without a record is an unfinished creation") {
  REQUIRE_OK(os::MakeDirectoryAt(volumes.fd(), Uuid(1), 0700));
  WriteRaw(2, "record.json.tmp", "half a rec");
  for (const int number : {1, 2}) {
    const pool::VolumeRecord record = test::Value(store.Read(volumes.fd(), Uuid(number)));
    CHECK(record.volume.state == VolumeState::kAllocating);
    CHECK(record.volume.id.uuid == Uuid(number));
  }
  CHECK(store.Count(VolumeRole::kVolume) == 0);
}

TEST_CASE_METHOD(Fixture, "an image without a record is damage, never an unfinished creation") {
  WriteRaw(1, "image", "data");
  CHECK_FAILS(store.Read(volumes.fd(), Uuid(1)), kInternal, "has an image but no record");
}

TEST_CASE_METHOD(Fixture, "a damaged record and another volume's record are refused") {
  WriteRaw(1, "record.json", pool::EncodeRecord(Record(1)).substr(1));
  CHECK_FAILS(store.Read(volumes.fd(), Uuid(1)), kInternal, Uuid(1));
  WriteRaw(2, "record.json", pool::EncodeRecord(Record(3)));
  CHECK_FAILS(store.Read(volumes.fd(), Uuid(2)), kInternal, "belongs to volume " + Uuid(3));
  WriteRaw(4, "record.json", std::string((1 << 20) + 1, ' '));
  CHECK_FAILS(store.Read(volumes.fd(), Uuid(4)), kInternal, "longer");
  CHECK(store.Count(VolumeRole::kVolume) == 0);
}

TEST_CASE_METHOD(Fixture, "only usable volumes are listed") {
  int number = 0;
  for (const auto state : {VolumeState::kAllocating, VolumeState::kReady, VolumeState::kDeleting}) {
    REQUIRE_OK(store.Write(volumes.fd(), Record(++number, state)));
  }
  REQUIRE(store.Count(VolumeRole::kVolume) == 1);
  CHECK(store.List(VolumeRole::kVolume, "", 0)[0].id.uuid == Uuid(2));
  REQUIRE_OK(store.Write(volumes.fd(), Record(2, VolumeState::kDeleting)));
  CHECK(store.Count(VolumeRole::kVolume) == 0);
}

TEST_CASE_METHOD(Fixture, "a list goes on after any uuid and ends where it should") {
  for (const int number : {5, 1, 3, 2, 4}) REQUIRE_OK(store.Write(volumes.fd(), Record(number)));
  const auto list = [&](const std::string& after, std::size_t limit) {
    std::string uuids;
    for (const Volume& volume : store.List(VolumeRole::kVolume, after, limit))
      uuids += volume.id.uuid.back();
    return uuids;
  };
  CHECK(list("", 0) == "12345");
  CHECK(list("", 2) == "12");
  CHECK(list(Uuid(2), 2) == "34");
  CHECK(list(Uuid(4), 2) == "5");
  CHECK(list(Uuid(5), 2).empty());
  store.Forget(Uuid(3));
  CHECK(list(Uuid(3), 0) == "45");  // the token's own volume may be gone
  CHECK(list("", 0) == "1245");
}

TEST_CASE_METHOD(Fixture, "only names that are uuids are volumes") {
  for (const std::string& name : {Uuid(1), std::string("lost+found"), std::string("notes"),
                                  "X" + Uuid(2).substr(1), Uuid(3) + ".bak"}) {
    REQUIRE_OK(os::MakeDirectoryAt(volumes.fd(), name, 0700));
  }
  CHECK(test::Value(RecordStore::Uuids(volumes.fd())) == std::vector<std::string>{Uuid(1)});
}

}  // namespace record_store_test
}  // namespace holdfast::file
