// SPDX-License-Identifier: Apache-2.0
#include "controller/keeping_reader.h"

#include <catch2/catch.hpp>

#include "support/memory_pool.h"
#include "support/outcome.h"

namespace holdfast::controller {
namespace keeping_reader_test {

class Zeros final : public ContentReader {
 public:
  [[nodiscard]] Bytes size() const override { return kMiB; }
  absl::StatusOr<std::optional<ContentPiece>> Next(Bytes offset) override {
    if (offset >= size()) return std::nullopt;
    return ContentPiece{.offset = offset, .bytes = std::string(4096, 'x')};
  }
};

TEST_CASE("a snapshot that is read is kept") {
  test::MemoryPool pool("p", "n");
  VolumeSpec spec;
  spec.name = "origin";
  spec.capacity.required = kMiB;
  REQUIRE_OK(pool.Create(spec));
  spec.role = VolumeRole::kSnapshot;
  spec.source = ContentSource{VolumeRole::kVolume, pool.IdForName("origin")};
  spec.hold = true;
  const pool::Pools::Located held{test::Value(pool.Create(spec)).id, &pool};
  KeyLock locks;
  KeepingReader eager(std::make_unique<Zeros>(), held, locks, std::chrono::milliseconds(0));
  CHECK(eager.size() == kMiB);
  REQUIRE(test::Value(eager.Next(0)));
  CHECK(pool.kept == 1);
  {
    const auto lock = test::Value(locks.TryLock(held.id.ToString(), "a call"));
    REQUIRE(test::Value(eager.Next(4096)));
  }
  CHECK(pool.kept == 1);
  REQUIRE(test::Value(eager.Next(8192)));
  CHECK(pool.kept == 2);
  REQUIRE_OK(pool.DeleteSnapshot(held.id));
  CHECK_FALSE(test::Value(eager.Next(kMiB)));  // what is gone is for the reader itself to say
  KeepingReader patient(std::make_unique<Zeros>(), held, locks);
  const int before = pool.kept;
  REQUIRE(test::Value(patient.Next(0)));
  CHECK(pool.kept == before);
}

}  // namespace keeping_reader_test
}  // namespace holdfast::controller
