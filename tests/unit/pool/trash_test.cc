// SPDX-License-Identifier: Apache-2.0
// How long entries of the trash were kept, which is never counted by the wall clock.
#include "pool/trash.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/trash_id.h"
#include "support/outcome.h"

namespace holdfast::pool {
namespace trash_test {

using std::chrono::hours;
using std::chrono::seconds;

constexpr char kUuid[] = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";

Trash::Clock::time_point now;

VolumeRecord Entry(absl::Time deleted_at, seconds keep, seconds kept = seconds(0)) {
  VolumeRecord record;
  record.volume.id.uuid = kUuid;
  record.volume.state = VolumeState::kTrashed;
  record.trashed = Trashed{.key = TrashKey(kUuid, deleted_at), .keep = keep, .kept = kept};
  return record;
}

struct Fixture {
  Trash trash{TrashPolicy{}, [] { return now; }};
  VolumeRecord record = Entry(absl::UnixEpoch(), hours(24));
  const std::string key = record.trashed->key;
  Trash::Entry Get() { return *trash.Find(key); }
};

TEST_CASE_METHOD(Fixture, "an entry is due when its time has passed while it was seen") {
  trash.Set(record, kMiB);
  CHECK_FALSE(Trash::IsDue(Get()));
  now += hours(24) - seconds(1);
  CHECK_FALSE(Trash::IsDue(Get()));
  now += seconds(1);
  CHECK(Trash::IsDue(Get()));
}

TEST_CASE_METHOD(Fixture,
                 "what earlier processes have noted counts, and what they have not does not") {
  record.trashed->kept = hours(20);
  trash.Set(record, kMiB);
  now += hours(3);
  CHECK(Get().kept == hours(23));
  CHECK_FALSE(Trash::IsDue(Get()));
  Trash next{TrashPolicy{}, [] { return now; }};  // of the process after a kill
  next.Set(record, kMiB);
  CHECK(next.Find(key)->kept == hours(20));
}

TEST_CASE_METHOD(Fixture, "how long it was kept is noted now and then") {
  trash.Set(record, kMiB);
  CHECK_FALSE(Trash::IsNoteDue(Get()));
  now += hours(1) - seconds(1);
  CHECK_FALSE(Trash::IsNoteDue(Get()));
  now += seconds(1);
  CHECK(Trash::IsNoteDue(Get()));
  record.trashed->kept = Get().kept;
  trash.Set(record, kMiB);
  CHECK_FALSE(Trash::IsNoteDue(Get()));
  CHECK(Get().kept == hours(1));
  record.trashed->keep = seconds(16);
  trash.Set(record, kMiB);
  now += seconds(1);
  CHECK(Trash::IsNoteDue(Get()));
}

TEST_CASE_METHOD(Fixture, "one call at a time is at work on an entry") {
  auto claim = trash.TryClaim(key);
  REQUIRE(claim.ok());
  CHECK_FAILS(trash.TryClaim(key).status(), kAborted, "try again");
  CHECK(trash.TryClaim("another").ok());
  { const Trash::Claim moved = *std::move(claim); }
  CHECK(trash.TryClaim(key).ok());
}

TEST_CASE_METHOD(Fixture, "entries are counted, and the first deleted come first") {
  const VolumeRecord later = Entry(absl::UnixEpoch() + absl::Hours(2), hours(24));
  VolumeRecord middle = Entry(absl::UnixEpoch() + absl::Hours(1), hours(24));
  CHECK_FALSE(trash.HasCopies());
  middle.volume.source = ContentSource{};
  trash.Set(later, kMiB);
  trash.Set(record, 2 * kMiB);
  trash.Set(middle, 4 * kMiB);
  CHECK(trash.Oldest() == std::vector<std::string>{key, middle.trashed->key, later.trashed->key});
  CHECK(trash.Count() == 3);
  CHECK(trash.Allocated() == 7 * kMiB);
  CHECK(trash.HasCopies());
  trash.Remove(middle.trashed->key);
  CHECK_FALSE(trash.HasCopies());
  CHECK(trash.List().size() == 2);
}

TEST_CASE_METHOD(Fixture, "what another process has noted counts where it is more, never twice") {
  trash.Set(record, kMiB);
  now += hours(2);
  record.trashed->kept = hours(1);
  trash.Refresh(record);
  CHECK(Get().kept == hours(2));
  record.trashed->kept = hours(5);
  trash.Refresh(record);
  CHECK(Get().kept == hours(5));
  CHECK(Get().allocated == kMiB);
  now += hours(1);
  CHECK(Get().kept == hours(6));
  record.trashed->kept = hours(6);
  trash.Refresh(record);
  CHECK_FALSE(Trash::IsNoteDue(Get()));
}

TEST_CASE_METHOD(Fixture, "what is deleted again under the same key has not been kept at all") {
  record.trashed->deletion = "one";
  trash.Set(record, kMiB);
  now += hours(30);
  CHECK(Trash::IsDue(Get()));
  record.trashed->deletion = "another";
  trash.Refresh(record);
  CHECK_FALSE(trash.Find(key));
  trash.Refresh(record);  // of what is not known
  CHECK(trash.Count() == 0);
}

}  // namespace trash_test
}  // namespace holdfast::pool
