// SPDX-License-Identifier: Apache-2.0
#include "core/trash_id.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace holdfast {
namespace trash_id_test {

const std::string kUuid = "0b7f1f2a-58e5-5b9e-8f0f-2d5c8f4d0001";
const absl::Time kTime =
    absl::FromCivil(absl::CivilSecond(2026, 11, 25, 8, 45, 0), absl::UTCTimeZone());

TEST_CASE("an id of the trash names the place and the time, and is read back") {
  const TrashId id{.pool = "default", .node = "n1", .key = TrashKey(kUuid, kTime)};
  CHECK(id.ToString() == "default:n1:" + kUuid + ".20261125T084500Z");
  CHECK(TrashId::Parse(id.ToString()) == id);
  CHECK(id.place() == VolumeId{"default", "n1", kUuid});
  CHECK(TimeOfTrashKey(id.key) == kTime);
  CHECK(UuidOfTrashKey(id.key) == kUuid);
  const TrashId shared{.pool = "ceph", .node = "", .key = TrashKey(kUuid, kTime)};
  CHECK(TrashId::Parse(shared.ToString()) == shared);
}

TEST_CASE("no other id is one, and it is no other") {
  const std::vector<std::string> others = {std::string(),
                                           "default:n1:" + kUuid,
                                           "s:default:n1:" + kUuid + ".20261125T084500Z",
                                           "default:n1:" + kUuid + ".",
                                           "default:n1:" + kUuid + ".20261125T084500",
                                           "default:n1:" + kUuid + ".20261325T084500Z",
                                           "default:n1:" + kUuid + ".20261125T084500ZZ",
                                           "default:n1:" + kUuid + "/20261125T084500Z",
                                           "default:" + kUuid + ".20261125T084500Z",
                                           "Default:n1:" + kUuid + ".20261125T084500Z",
                                           ":n1:" + kUuid + ".20261125T084500Z",
                                           "default:../x:" + kUuid + ".20261125T084500Z",
                                           "default:n1:.20261125T084500Z",
                                           "default:n1: " + kUuid + ".20261125T084500Z",
                                           "default:n1:" + kUuid + ".2026-11-25T08:45:00Z"};
  for (const std::string& text : others) {
    CAPTURE(text);
    CHECK_FALSE(TrashId::Parse(text));
  }
  const std::string id = "default:n1:" + TrashKey(kUuid, kTime);
  CHECK_FALSE(VolumeId::Parse(id));
  CHECK_FALSE(ParseSnapshotId(id));
}

TEST_CASE("a clock that is far off makes a key all the same") {
  for (const absl::Time time : {absl::InfinitePast(), absl::InfiniteFuture(),
                                absl::UnixEpoch() - absl::Hours(24 * 365 * 3000),
                                absl::UnixEpoch() + absl::Hours(24 * 365 * 9000)}) {
    CHECK(IsTrashKey(TrashKey(kUuid, time)));
  }
}

}  // namespace trash_id_test
}  // namespace holdfast
