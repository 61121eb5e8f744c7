// SPDX-License-Identifier: Apache-2.0
#include "file/digest_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "core/disk_names.h"
#include "file/digest_changes.h"
#include "file/digest_making.h"
#include "file/image_changes.h"
#include "os/file.h"
#include "os/unique_fd.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::file {
namespace digest_table_test {

constexpr Bytes kCapacity = 5 * kDigestBlock + 4096;  // the last block is a short one

const TableOwner kOwner{.snapshot = "5b0cf0a4-58e5-5b9e-8f0f-2d5c8f4d0001",
                        .volume = "5b0cf0a4-58e5-5b9e-8f0f-2d5c8f4d0002",
                        .capacity = kCapacity};

// A snapshot's directory.
struct Snapshot {
  Snapshot() : image(::openat(directory.fd(), kImageName, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    REQUIRE(::ftruncate(image.get(), kCapacity) == 0);
  }
  void Write(Bytes at, const std::string& bytes) const {
    REQUIRE(::pwrite(image.get(), bytes.data(), bytes.size(), at) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // As if nothing had been written.
  void WriteUnseen(Bytes at, const std::string& bytes) const {
    struct stat before {};
    REQUIRE(::fstat(image.get(), &before) == 0);
    Write(at, bytes);
    const timespec times[] = {before.st_atim, before.st_mtim};
    REQUIRE(::futimens(image.get(), times) == 0);
  }
  void Make() const {
    for (Bytes reached = 0;;) {
      const Bytes before = reached;
      if (test::Value(MakeDigestTable(directory.fd(), image.get(), kOwner, nullptr, reached))) {
        return;
      }
      REQUIRE(reached > before);
    }
  }
  std::optional<DigestTable> Open() const {
    return test::Value(DigestTable::Open(directory.fd(), image.get(), kOwner));
  }

  test::TempDirectory directory;
  os::UniqueFd image;
};

TEST_CASE("equal blocks have one digest, and zeros none") {
  const Snapshot snapshot;
  const std::string block(static_cast<std::size_t>(kDigestBlock), 'x');
  snapshot.Write(0, block);
  snapshot.Write(2 * kDigestBlock, block);
  snapshot.Write(3 * kDigestBlock, std::string(100, '\0'));
  snapshot.Write(kCapacity - 1, "y");
  CHECK_FALSE(snapshot.Open());
  snapshot.Make();
  auto table = snapshot.Open();
  REQUIRE(table);
  const auto at = [&](Bytes number) { return test::Value(table->At(number * kDigestBlock)); };
  CHECK(at(0) != Digest{});
  CHECK(at(0) == at(2));
  CHECK(at(5) != Digest{});
  CHECK(at(5) != at(0));
  for (const Bytes zeros : {1, 3, 4}) CHECK(at(zeros) == Digest{});
  CHECK(at(0) == at(2));  // backwards, too
  CHECK_FALSE(os::ExistsAt(snapshot.directory.fd(), kTemporaryDigestsName));
}

TEST_CASE("a table of another image, or of a changed one, is none") {
  const Snapshot one;
  const Snapshot other;
  one.Make();
  REQUIRE(one.Open());
  SECTION("another image in its place") {
    REQUIRE(::renameat(one.directory.fd(), kDigestsName, other.directory.fd(), kDigestsName) == 0);
    CHECK_FALSE(other.Open());
  }
  SECTION("the image was written to") {
    one.Write(5, "x");
    CHECK_FALSE(one.Open());
  }
  const auto open_as = [&](const TableOwner& owner) {
    return test::Value(DigestTable::Open(one.directory.fd(), one.image.get(), owner)).has_value();
  };
  SECTION("another capacity") {
    TableOwner other_owner = kOwner;
    other_owner.capacity -= 4096;
    CHECK_FALSE(open_as(other_owner));
  }
  SECTION("another snapshot's or volume's") {
    TableOwner other_owner = kOwner;
    other_owner.snapshot = kOwner.volume;
    CHECK_FALSE(open_as(other_owner));
    other_owner = kOwner;
    other_owner.volume = kOwner.snapshot;
    CHECK_FALSE(open_as(other_owner));
  }
  SECTION("cut short") {
    const os::UniqueFd table =
        test::Value(os::OpenFileAt(one.directory.fd(), kDigestsName, O_RDWR));
    REQUIRE(::ftruncate(table.get(), 4096 + 32) == 0);
    CHECK_FALSE(one.Open());
  }
  SECTION("another header") {
    const os::UniqueFd table =
        test::Value(os::OpenFileAt(one.directory.fd(), kDigestsName, O_RDWR));
    REQUIRE(::pwrite(table.get(), " ", 1, 100) == 1);
    CHECK_FALSE(one.Open());
  }
}

TEST_CASE("nothing of an unfinished table is used") {
  const Snapshot snapshot;
  snapshot.Write(0, "x");
  REQUIRE_OK(
      os::WriteFileDurably(snapshot.directory.fd(), kTemporaryDigestsName, std::string(8000, 'z')));
  CHECK_FALSE(snapshot.Open());
  snapshot.Make();
  auto table = snapshot.Open();
  REQUIRE(table);
  CHECK(test::Value(table->At(4 * kDigestBlock)) == Digest{});
  REQUIRE_OK(os::WriteFileDurably(snapshot.directory.fd(), kTemporaryDigestsName, "z"));
  Bytes reached = kDigestBlock;  // of an attempt whose file is another one
  CHECK(test::CodeOf(MakeDigestTable(snapshot.directory.fd(), snapshot.image.get(), kOwner, nullptr,
                                     reached)) == absl::StatusCode::kInternal);
  CHECK_FALSE(os::ExistsAt(snapshot.directory.fd(), kTemporaryDigestsName));
}

TEST_CASE("with both tables no image is read") {
  const Snapshot base;
  const Snapshot target;
  const std::string block(static_cast<std::size_t>(kDigestBlock), 'x');
  for (const Bytes at : {0, 1, 3}) {
    base.Write(at * kDigestBlock, block);
    target.Write(at * kDigestBlock, block);
  }
  target.Write(kDigestBlock + 5, "y");
  target.Write(kCapacity - 1, "z");
  base.Make();
  target.Make();
  auto base_table = base.Open();
  auto target_table = target.Open();
  target.WriteUnseen(0, "unseen");
  Comparison images{.base_fd = base.image.get(),
                    .target_fd = target.image.get(),
                    .capacity = kCapacity,
                    .by_place = false,
                    .by_content = true};
  const pool::Ranges read = test::Value(FindChanges(images, 0)).ranges;
  CHECK(read == pool::Ranges{{0, 2 * kDigestBlock}, {5 * kDigestBlock, kCapacity}});
  images.base_digests = &*base_table;
  CHECK(test::Value(FindChanges(images, 0)).ranges == read);
  images.target_digests = &*target_table;
  const pool::Ranges looked_up{{kDigestBlock, 2 * kDigestBlock}, {5 * kDigestBlock, kCapacity}};
  CHECK(test::Value(FindChanges(images, 0)).ranges == looked_up);
}

TEST_CASE("a damaged digest, or checksum of digests, is not believed") {
  const Snapshot snapshot;
  snapshot.Write(0, "x");
  snapshot.Make();
  const Bytes at = GENERATE(PlaceOfDigest(0), PlaceOfDigest(0) + 31, PlaceOfDigest(3),
                            PlaceOfGroupSum(kCapacity, 0), DigestFileSize(kCapacity) - 1);
  const os::UniqueFd file =
      test::Value(os::OpenFileAt(snapshot.directory.fd(), kDigestsName, O_RDWR));
  char byte = 0;
  REQUIRE(::pread(file.get(), &byte, 1, at) == 1);
  byte = static_cast<char>(byte ^ 1);
  REQUIRE(::pwrite(file.get(), &byte, 1, at) == 1);
  auto table = snapshot.Open();
  REQUIRE(table);
  CHECK_FALSE(table->is_damaged());
  CHECK(test::CodeOf(table->At(0)) == absl::StatusCode::kDataLoss);
  CHECK(table->is_damaged());
}

TEST_CASE("an image is compared with a table alone, by its table or by its bytes") {
  const Snapshot base;
  const Snapshot target;
  const std::string block(static_cast<std::size_t>(kDigestBlock), 'x');
  for (const Bytes number : {0, 1, 3}) base.Write(number * kDigestBlock, block);
  for (const Bytes number : {0, 1, 4}) target.Write(number * kDigestBlock, block);
  target.Write(kDigestBlock + 5, "y");
  target.Write(kCapacity - 1, "z");
  base.Make();
  target.Make();
  auto base_table = base.Open();
  auto target_table = target.Open();
  DigestComparison compared{.base = &*base_table,
                            .target_fd = target.image.get(),
                            .target = GENERATE(true, false) ? &*target_table : nullptr,
                            .common = kCapacity};
  // The third one holds zeros in both, the fourth one in the target only.
  const pool::RangePage page = test::Value(FindChangesByDigests(compared, 0));
  CHECK(page.next == kCapacity);
  CHECK(page.ranges ==
        pool::Ranges{{kDigestBlock, 2 * kDigestBlock}, {3 * kDigestBlock, kCapacity}});
  const pool::RangePage rest = test::Value(FindChangesByDigests(compared, kDigestBlock + 4096));
  CHECK(rest.ranges.front() == pool::Range{kDigestBlock + 4096, 2 * kDigestBlock});
}

TEST_CASE("a shorter base ends within a block") {
  const Snapshot base;
  const Snapshot target;
  base.Write(kCapacity - 1, "a");
  target.Write(kCapacity - 1, GENERATE("a", "b"));
  REQUIRE(::ftruncate(target.image.get(), 6 * kDigestBlock) == 0);
  target.Write(6 * kDigestBlock - 1, "c");
  base.Make();
  auto base_table = base.Open();
  const DigestComparison compared{.base = &*base_table,
                                  .target_fd = target.image.get(),
                                  .target = nullptr,
                                  .common = kCapacity};
  char last = 0;
  REQUIRE(::pread(target.image.get(), &last, 1, kCapacity - 1) == 1);
  const pool::Ranges changed = test::Value(FindChangesByDigests(compared, 0)).ranges;
  CHECK(changed == (last == 'a' ? pool::Ranges{} : pool::Ranges{{5 * kDigestBlock, kCapacity}}));
}

}  // namespace digest_table_test
}  // namespace holdfast::file
