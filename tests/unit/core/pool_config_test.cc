// SPDX-License-Identifier: Apache-2.0
#include "core/pool_config.h"

#include <array>
#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast {
namespace pool_config_test {

absl::Status RequireShelf(const std::string& location, const PoolKeys& keys) {
  if (location.empty()) return InvalidArgument("a shelf is missing");
  const auto robot = keys.find("robot");
  if (robot != keys.end() && robot->second == "none") return InvalidArgument("robot='none'");
  return absl::OkStatus();
}

absl::Status Accept(const std::string&, const PoolKeys&) { return absl::OkStatus(); }

constexpr std::array kTapeKeys{PoolKey{"robot", true}, PoolKey{"speed"}};
constexpr PoolSyntax kTape{
    .kind = "tape", .location = "SHELF", .help = "", .keys = kTapeKeys, .check = RequireShelf};
constexpr PoolSyntax kDrum{
    .kind = "drum", .location = "NUMBER", .help = "", .keys = {}, .check = Accept};
constexpr std::array<const PoolSyntax*, 2> kKinds{&kTape, &kDrum};

absl::StatusOr<PoolConfig> Parse(std::string_view text) { return ParsePool(text, kKinds); }

TEST_CASE("a pool without keys has the documented default filesystem") {
  const PoolConfig pool = test::Value(Parse("default=tape:/srv/a=b:c"));
  CHECK(pool.name == "default");
  CHECK(pool.syntax == &kTape);
  CHECK(pool.kind() == "tape");
  CHECK(pool.location == "/srv/a=b:c");
  CHECK(pool.default_filesystem == "ext4");
  CHECK(pool.keys.empty());
  CHECK_FALSE(pool.accept_move);
}

TEST_CASE("a pool's keys are those of its kind, and fs") {
  const PoolConfig pool = test::Value(Parse("p-1=tape:a,fs=xfs,speed=1=2,robot=r"));
  CHECK(pool.default_filesystem == "xfs");
  CHECK(pool.keys == PoolKeys{{"robot", "r"}, {"speed", "1=2"}});
  CHECK(test::Value(Parse("p=drum:1,fs=xfs")).default_filesystem == "xfs");
}

TEST_CASE("a wrong pool is refused, naming the part that is wrong") {
  const struct {
    const char* text;
    const char* named;
  } rows[] = {
      {"", "must be NAME=tape:SHELF[,key=value...] or NAME=drum:NUMBER[,key=value...]"},
      {"default", "pool 'default' must be NAME=tape:SHELF"},
      {"=tape:a", "pool name ''"},
      {"Default=tape:a", "pool name 'Default'"},
      {"a.b=tape:a", "pool name 'a.b'"},
      {"p=", "pool 'p': '' must be tape:SHELF or drum:NUMBER"},
      {"p=/a", "'/a' must be tape:SHELF"},
      {"p=wire:a", "'wire:a' must be tape:SHELF"},
      {"p=tape", "'tape' must be tape:SHELF"},
      {"p=tape:", "pool 'p': a shelf is missing"},
      {"p=tape:a,", "must be key=value"},
      {"p=tape:a,fs", "'fs' must be key=value"},
      {"p=tape:a,colour=red", "pool 'p': unknown key 'colour'; known: fs, robot, speed"},
      {"p=tape:a,sped=1", "unknown key 'sped'; did you mean 'speed'?"},
      {"p=drum:1,speed=1", "unknown key 'speed'"},
      {"p=tape:a,fs=xfs,fs=ext4", "'fs' is given twice"},
      {"p=tape:a,robot=none", "pool 'p': robot='none'"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK_FAILS(Parse(row.text), kInvalidArgument, row.named);
  }
}

TEST_CASE("the keys that select storage tell pools of one location apart") {
  const auto same = [](std::string_view one, std::string_view other) {
    return IsSameStorage(test::Value(Parse(one)), test::Value(Parse(other)));
  };
  CHECK(same("a=tape:x", "b=tape:x,fs=xfs,speed=2"));
  CHECK(same("a=tape:x,robot=r", "b=tape:x,robot=r"));
  CHECK_FALSE(same("a=tape:x,robot=r", "b=tape:x"));
  CHECK_FALSE(same("a=tape:x,robot=r", "b=tape:x,robot=s"));
  CHECK_FALSE(same("a=tape:x", "b=tape:y"));
  CHECK_FALSE(same("a=tape:x", "b=drum:x"));
}

}  // namespace pool_config_test
}  // namespace holdfast
