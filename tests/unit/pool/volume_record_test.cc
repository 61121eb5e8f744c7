// SPDX-License-Identifier: Apache-2.0
#include "pool/volume_record.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "core/checked_json.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace volume_record_test {

constexpr char kUuid[] = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";
constexpr char kFilesystemUuid[] = "7c0e4f3e-0000-4000-8000-000000000002";

VolumeRecord Formatted() {
  VolumeRecord record;
  Volume& volume = record.volume;
  volume.id.uuid = kUuid;
  volume.name = "pvc-1 grüße";
  volume.capacity_bytes = 64 * kMiB;
  volume.provisioning = Provisioning::kThin;
  volume.access_type = AccessType::kMount;
  volume.state = VolumeState::kFormatted;
  volume.filesystem = "ext4";
  volume.filesystem_uuid = kFilesystemUuid;
  volume.mkfs_options = {"-m", "0"};
  volume.parameters = {{"pool", "fast"}, {"provisioning", "thin"}};
  volume.created_at = "2026-01-31T23:59:59Z";
  record.grow_to_bytes = 128 * kMiB;
  record.sector_size = 4096;
  return record;
}

VolumeRecord Block() {
  VolumeRecord record = Formatted();
  record.volume.access_type = AccessType::kBlock;
  record.volume.state = VolumeState::kReady;
  record.volume.filesystem = "";
  record.volume.filesystem_uuid = "";
  record.volume.mkfs_options = {};
  record.volume.provisioning = Provisioning::kThick;
  record.grow_to_bytes = 0;
  record.sector_size = 512;
  return record;
}

VolumeRecord Copying() {
  VolumeRecord record = Block();
  record.volume.role = VolumeRole::kSnapshot;
  record.volume.state = VolumeState::kCopying;
  record.volume.source = ContentSource{VolumeRole::kVolume, {"p", "n", kFilesystemUuid}};
  record.copy = CopyProgress{.data_bytes = 48 * kMiB, .copied_to = kMiB, .source_version = "v 1"};
  return record;
}

void CheckSame(const VolumeRecord& left, const VolumeRecord& right) {
  CHECK(left.volume.id == right.volume.id);
  CHECK(left.volume.name == right.volume.name);
  CHECK(left.volume.capacity_bytes == right.volume.capacity_bytes);
  CHECK(left.volume.provisioning == right.volume.provisioning);
  CHECK(left.volume.access_type == right.volume.access_type);
  CHECK(left.volume.state == right.volume.state);
  CHECK(left.volume.filesystem == right.volume.filesystem);
  CHECK(left.volume.filesystem_uuid == right.volume.filesystem_uuid);
  CHECK(left.volume.mkfs_options == right.volume.mkfs_options);
  CHECK(left.volume.parameters == right.volume.parameters);
  CHECK(left.volume.created_at == right.volume.created_at);
  CHECK(left.grow_to_bytes == right.grow_to_bytes);
  CHECK(left.sector_size == right.sector_size);
}

TEST_CASE("a record has the names of what it was made for, where they are known") {
  VolumeRecord record = Formatted();
  CHECK_FALSE((EncodeRecord(record).find("requested_by") != std::string::npos));
  CHECK_FALSE(test::Value(DecodeRecord(EncodeRecord(record))).volume.requested_by);
  record.volume.requested_by = {.name_space = "shop", .name = "orders", .content = ""};
  CHECK(test::Value(DecodeRecord(EncodeRecord(record))) == record);
}

TEST_CASE("a record whose names no object can have is damaged") {
  const std::vector<RequestingObjects> impossible = {
      {"", "", ""}, {"Shop", "", ""}, {"", "a/b", ""}, {"", "", "\x1b[2J"}};
  for (const RequestingObjects& objects : impossible) {
    VolumeRecord record = Formatted();
    record.volume.requested_by = objects;
    CHECK(absl::IsInternal(DecodeRecord(EncodeRecord(record)).status()));
  }
}

TEST_CASE("a record is read back as it was written") {
  CheckSame(test::Value(DecodeRecord(EncodeRecord(Formatted()))), Formatted());
  CheckSame(test::Value(DecodeRecord(EncodeRecord(Block()))), Block());
}

TEST_CASE("a copy is read back with its progress, also as a tombstone") {
  VolumeRecord record = Copying();
  CHECK(test::Value(DecodeRecord(EncodeRecord(record))) == record);
  record.volume.state = VolumeState::kDeleting;
  CHECK(test::Value(DecodeRecord(EncodeRecord(record))) == record);
}

VolumeRecord Member() {
  VolumeRecord record = Block();
  record.volume.role = VolumeRole::kSnapshot;
  record.volume.state = VolumeState::kCut;
  record.volume.source = ContentSource{VolumeRole::kVolume, {"p", "n", kFilesystemUuid}};
  record.volume.group = SnapshotGroup{
      .id = std::string("g:") + kUuid,
      .members = {ToSnapshotId({"p", "n1", kUuid}), ToSnapshotId({"p", "n2", kUuid})}};
  return record;
}

TEST_CASE("a member of a group snapshot is read back, decided or not") {
  VolumeRecord record = Member();
  record.volume.state = GENERATE(VolumeState::kAllocating, VolumeState::kCut, VolumeState::kReady,
                                 VolumeState::kDeleting);
  CHECK(test::Value(DecodeRecord(EncodeRecord(record))) == record);
}

TEST_CASE("an impossible group snapshot is refused") {
  VolumeRecord record = Member();
  SECTION("undecided without a group") { record.volume.group.reset(); }
  SECTION("of a volume") { record.volume.role = VolumeRole::kVolume; }
  SECTION("another id") { record.volume.group->id = kUuid; }
  SECTION("without members") { record.volume.group->members.clear(); }
  SECTION("not sorted") {
    std::swap(record.volume.group->members[0], record.volume.group->members[1]);
  }
  SECTION("a volume among them") { record.volume.group->members[0] = "p:n:" + std::string(kUuid); }
  CHECK_FAILS(DecodeRecord(EncodeRecord(record)), kInternal, "impossible group snapshot");
}

TEST_CASE("the depth of a clone is read back, and an impossible one is refused") {
  VolumeRecord record = Formatted();
  record.clone_depth = 3;
  CHECK(test::Value(DecodeRecord(EncodeRecord(record))) == record);
  record.clone_depth = GENERATE(-1, 16);
  CHECK_FAILS(DecodeRecord(EncodeRecord(record)), kInternal, "impossible clone depth");
}

TEST_CASE("an impossible progress of a copy is refused") {
  VolumeRecord record = Copying();
  SECTION("none") { record.copy.reset(); }
  SECTION("of what is complete") { record.volume.state = VolumeState::kReady; }
  SECTION("of nothing") {
    record.volume.role = VolumeRole::kVolume;
    record.volume.source.reset();
  }
  SECTION("of what grows") { record.grow_to_bytes = 128 * kMiB; }
  SECTION("below zero") { record.copy->copied_to = -1; }
  SECTION("without a size") { record.copy->data_bytes = -1; }
  SECTION("beyond the end") { record.copy->copied_to = 65 * kMiB; }
  CHECK_FAILS(DecodeRecord(EncodeRecord(record)), kInternal, "impossible progress of a copy");
}

VolumeRecord InTrash() {
  VolumeRecord record = Formatted();
  record.volume.state = VolumeState::kTrashed;
  record.volume.keep_deleted = std::chrono::hours(24);
  record.trashed = Trashed{.key = std::string(kUuid) + ".20261125T084500Z",
                           .deleted_at = "2026-11-25T08:45:00Z",
                           .keep = std::chrono::hours(24),
                           .kept = std::chrono::hours(1),
                           .before = VolumeState::kFormatted};
  return record;
}

TEST_CASE("what is in the trash is read back, also as a tombstone") {
  VolumeRecord record = InTrash();
  CHECK(test::Value(DecodeRecord(EncodeRecord(record))) == record);
  record.volume.state = VolumeState::kDeleting;
  CHECK(test::Value(DecodeRecord(EncodeRecord(record))) == record);
  record.trashed->deletion = kFilesystemUuid;
  CHECK(test::Value(DecodeRecord(EncodeRecord(record))) == record);
  CHECK_FALSE(IsUsable(VolumeState::kTrashed));
}

TEST_CASE("an impossible state in the trash is refused") {
  VolumeRecord record = InTrash();
  SECTION("nothing is said of it") { record.trashed.reset(); }
  SECTION("it is in use") { record.volume.state = VolumeState::kFormatted; }
  SECTION("another volume's key") {
    record.trashed->key = std::string(kFilesystemUuid) + ".20261125T084500Z";
  }
  SECTION("no key") { record.trashed->key = kUuid; }
  SECTION("a path") { record.trashed->key = std::string(kUuid) + ".../../x"; }
  SECTION("a time below zero") { record.trashed->kept = std::chrono::seconds(-1); }
  SECTION("an eternity") { record.trashed->keep = std::chrono::seconds::max(); }
  SECTION("it never was one") { record.trashed->before = VolumeState::kAllocating; }
  SECTION("it was being copied") { record.trashed->before = VolumeState::kCopying; }
  CHECK_FAILS(DecodeRecord(EncodeRecord(record)), kInternal, "impossible state in the trash");
}

TEST_CASE("every state survives") {
  for (const auto state : {VolumeState::kAllocating, VolumeState::kReady, VolumeState::kFormatting,
                           VolumeState::kFormatted, VolumeState::kDeleting}) {
    VolumeRecord record = Formatted();
    record.volume.state = state;
    CHECK(test::Value(DecodeRecord(EncodeRecord(record))).volume.state == state);
  }
}

// Every bit of every byte would take long; these four changes reach case, digit, control and high
// bit.
TEST_CASE("a record with any one byte changed is refused, or still says the same") {
  const std::string good = EncodeRecord(Formatted());
  std::size_t refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int change : {0x01, 0x10, 0x20, 0x80}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      const auto record = DecodeRecord(bad);
      CAPTURE(i, change, bad.substr(i < 20 ? 0 : i - 20, 40));
      if (record.ok()) {
        REQUIRE(EncodeRecord(*record) == good);
      } else {
        REQUIRE(record.status().code() == absl::StatusCode::kInternal);
        ++refused;
      }
    }
  }
  CHECK(refused > good.size());  // most bytes carry meaning
}

TEST_CASE("a record with a byte missing or doubled is refused, or still says the same") {
  const std::string good = EncodeRecord(Formatted());
  for (std::size_t i = 0; i < good.size(); ++i) {
    const auto shorter = DecodeRecord(std::string(good).erase(i, 1));
    const auto longer = DecodeRecord(std::string(good).insert(i, 1, good[i]));
    CAPTURE(i);
    for (const auto& record : {shorter, longer}) {
      if (record.ok()) REQUIRE(EncodeRecord(*record) == good);
    }
  }
}

TEST_CASE("a truncated record is refused") {
  const std::string good = EncodeRecord(Formatted());
  for (std::size_t size = 0; size + 1 < good.size();
       ++size) {  // without the final newline it is whole
    CAPTURE(size);
    REQUIRE(test::CodeOf(DecodeRecord(good.substr(0, size))) == absl::StatusCode::kInternal);
  }
  CHECK_FAILS(DecodeRecord(std::string(good.size(), '\0')), kInternal, "damaged");
}

TEST_CASE("a number that no record has is not made into another one") {
  for (const char* const name : {"capacity_bytes", "grow_to_bytes", "sector_size"}) {
    for (const char* const number :
         {"4096.0", "1e300", "4294967808", "18446744073709551104", "true", "null", "\"512\""}) {
      nlohmann::json object = test::Value(DecodeChecked(EncodeRecord(Block()), 1, "record"));
      object[name] = nlohmann::json::parse(number);
      if (object[name] == 4294967808 && std::string_view(name) != "sector_size") continue;
      CAPTURE(name, number);
      CHECK_FAILS(DecodeRecord(EncodeChecked(object, 1)), kInternal, "damaged");
    }
  }
}

TEST_CASE("a record of another schema version is refused and says which") {
  const nlohmann::json object = test::Value(DecodeChecked(EncodeRecord(Block()), 1, "record"));
  for (const int version : {0, 2, 99}) {
    CHECK_FAILS(DecodeRecord(EncodeChecked(object, version)), kInternal,
                "has schema version " + std::to_string(version));
  }
}

TEST_CASE("impossible values are refused even under a right checksum") {
  const struct {
    const char* what;
    std::function<void(VolumeRecord&)> change;
  } rows[] = {
      {"bad uuid", [](VolumeRecord& r) { r.volume.id.uuid = "../../etc"; }},
      {"impossible capacity 0", [](VolumeRecord& r) { r.volume.capacity_bytes = 0; }},
      {"impossible capacity -4096", [](VolumeRecord& r) { r.volume.capacity_bytes = -4096; }},
      {"impossible capacity 4097", [](VolumeRecord& r) { r.volume.capacity_bytes = 4097; }},
      {"impossible growth", [](VolumeRecord& r) { r.grow_to_bytes = r.volume.capacity_bytes; }},
      {"impossible growth to 1", [](VolumeRecord& r) { r.grow_to_bytes = 1; }},
      {"impossible sector size", [](VolumeRecord& r) { r.sector_size = 1024; }},
      {"contradict", [](VolumeRecord& r) { r.volume.filesystem = ""; }},
      {"contradict", [](VolumeRecord& r) { r.volume.access_type = AccessType::kBlock; }},
      {"contradict", [](VolumeRecord& r) { r.volume.filesystem_uuid = ""; }},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    VolumeRecord record = Formatted();
    row.change(record);
    CHECK_FAILS(DecodeRecord(EncodeRecord(record)), kInternal, row.what);
  }
}

TEST_CASE("missing, misnamed and mistyped fields are refused even under a right checksum") {
  const nlohmann::json good = test::Value(DecodeChecked(EncodeRecord(Formatted()), 1, "record"));
  for (const auto& [key, value] : good.items()) {
    CAPTURE(key);
    nlohmann::json missing = good;
    missing.erase(key);
    CHECK_FAILS(DecodeRecord(EncodeChecked(missing, 1)), kInternal, "");
    nlohmann::json mistyped = good;
    mistyped[key] = nlohmann::json::array({nlohmann::json::object()});
    CHECK_FAILS(DecodeRecord(EncodeChecked(mistyped, 1)), kInternal, "");
  }
  for (const char* key : {"state", "provisioning", "access_type"}) {
    nlohmann::json unknown = good;
    unknown[key] = "other";
    CHECK_FAILS(DecodeRecord(EncodeChecked(unknown, 1)), kInternal, "'other'");
  }
}

}  // namespace volume_record_test
}  // namespace holdfast::pool
