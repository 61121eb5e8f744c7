// SPDX-License-Identifier: Apache-2.0
#include "file/file_kind.h"

#include <array>
#include <catch2/catch.hpp>

#include "support/outcome.h"

namespace holdfast::file {
namespace file_kind_test {

absl::StatusOr<PoolConfig> Parse(std::string_view text) {
  const std::array<const PoolSyntax*, 1> kinds{&FileSyntax()};
  return ParsePool(text, kinds);
}

TEST_CASE("a pool of image files") {
  const PoolConfig pool = test::Value(
      Parse("default=file:/srv/volumes,fs=xfs,reserve=1Gi,overcommit=1.5,watermark=75%"));
  CHECK(pool.kind() == "file");
  CHECK(pool.location == "/srv/volumes");
  CHECK(pool.keys == PoolKeys{{"overcommit", "1.5"}, {"reserve", "1Gi"}, {"watermark", "75%"}});
  CHECK_FALSE(pool.syntax->is_shared);
}

TEST_CASE("a wrong pool of image files is refused, naming the part that is wrong") {
  const struct {
    const char* text;
    const char* named;
  } rows[] = {
      {"p=file", "must be file:DIRECTORY"},
      {"p=file:", "pool 'p': directory '' must be an absolute path"},
      {"p=file:a", "absolute path"},
      {"p=file:/a,reserve=101%", "reserve"},
      {"p=file:/a,overcommit=0", "overcommit"},
      {"p=file:/a,watermark=1", "watermark"},
      {"p=file:/a,sectorSize=1024", "sectorSize"},
      {"p=file:/a,topology=zone=a", "unknown key 'topology'"},
      {"p=file:/a,monitors=h:1", "unknown key 'monitors'"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.text);
    CHECK_FAILS(Parse(row.text), kInvalidArgument, row.named);
  }
}

TEST_CASE("two pools in one directory are the same storage, whatever their keys are") {
  CHECK(IsSameStorage(test::Value(Parse("a=file:/a,reserve=1%")), test::Value(Parse("b=file:/a"))));
}

}  // namespace file_kind_test
}  // namespace holdfast::file
