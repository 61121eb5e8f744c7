// SPDX-License-Identifier: Apache-2.0
#include "fs/probe.h"

#include <unistd.h>

#include <chrono>

#include "core/volume_id.h"
#include "fs/filesystem.h"
#include "support/foreign_disk.h"
#include "support/loop_image.h"

namespace holdfast::fs {
namespace probe_test {

using test::AttachedLoop;
using test::ImageFile;
using test::TempDirectory;

constexpr Bytes kSize = 16 * kMiB;
// Random, because mkfs.btrfs looks through every device of the machine for a UUID that it is given.
const std::string kUuid = RandomUuid();
const std::string kOtherUuid = RandomUuid();

// A device with known content.
struct Disk {
  explicit Disk(Bytes size) : image(directory.path("image"), size), loop(image.fd()) {}
  explicit Disk(const std::string& content) : Disk(static_cast<Bytes>(content.size())) {
    const os::UniqueFd fd = OpenNode(O_WRONLY);
    std::size_t done = 0;
    while (done < content.size()) {
      const ssize_t written = ::write(fd.get(), content.data() + done, content.size() - done);
      REQUIRE(written > 0);
      done += static_cast<std::size_t>(written);
    }
    REQUIRE(::fsync(fd.get()) == 0);
  }

  [[nodiscard]] os::UniqueFd OpenNode(int flags) const {
    os::UniqueFd fd(::open(device().path.c_str(), flags | O_CLOEXEC));
    REQUIRE(fd.valid());
    return fd;
  }
  [[nodiscard]] std::string Content() const {
    REQUIRE(::fsync(OpenNode(O_RDONLY).get()) == 0);
    std::string content(static_cast<std::size_t>(device().size), '\0');
    REQUIRE(::pread(image.fd(), content.data(), content.size(), 0) == device().size);
    return content;
  }
  void Write(Bytes offset, std::string_view bytes) const {
    const os::UniqueFd fd = OpenNode(O_WRONLY);
    REQUIRE(::pwrite(fd.get(), bytes.data(), bytes.size(), offset) ==
            static_cast<ssize_t>(bytes.size()));
    REQUIRE(::fsync(fd.get()) == 0);
  }
  [[nodiscard]] const os::BlockDevice& device() const { return loop->block; }

  TempDirectory directory;
  ImageFile image;
  AttachedLoop loop;
};

// Every question refuses and no byte changes. REQUIRE(equal), because Catch would print the disk.
void CheckIsLeftAlone(const Disk& disk, const std::string& type) {
  const std::string before = disk.Content();
  const auto found = Probe(disk.device());
  CAPTURE(found.status());
  REQUIRE(found.ok());
  CHECK(found->content == Content::kSignature);
  CHECK(found->signature.type == type);
  CHECK_FALSE(found->signature.usage.empty());

  const absl::Status blank = RequireBlank(disk.device());
  CHECK(blank.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(blank), Catch::Contains(type) && Catch::Contains("left alone"));
  const absl::Status mine = RequireFilesystem(disk.device(), "no-such-type", kUuid);
  CHECK(mine.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(mine), Catch::Contains(type));
  const bool equal = disk.Content() == before;
  CHECK(equal);
}

TEST_CASE("a device of zeros is blank") {
  const Disk disk(kSize);
  const auto found = Probe(disk.device());
  REQUIRE(found.ok());
  CHECK(found->content == Content::kNothingRecognised);
  CHECK(RequireBlank(disk.device()).ok());
}

TEST_CASE("what belongs to others is recognised and left alone") {
  for (const test::ForeignDisk& foreign : test::ForeignDisks(kSize)) {
    INFO(foreign.type);
    CheckIsLeftAlone(Disk(foreign.content), foreign.type);
  }
}

TEST_CASE("a partition table is not called a filesystem") {
  const Disk disk(test::GptPartitions(kSize).content);
  const auto found = Probe(disk.device());
  REQUIRE(found.ok());
  CHECK(found->signature.usage == "partition table");
}

TEST_CASE("real filesystems are recognised and left alone") {
  const auto [type, argv, size] = GENERATE(table<std::string, std::vector<std::string>, Bytes>({
      {"ext2", {"mkfs.ext2", "-q"}, kSize},
      {"ext3", {"mkfs.ext3", "-q"}, kSize},
      {"ext4", {"mkfs.ext4", "-q"}, kSize},
      {"xfs", {"mkfs.xfs", "-q"}, 300 * kMiB},
      {"btrfs", {"mkfs.btrfs", "-q"}, 256 * kMiB},
      {"swap", {"mkswap"}, kSize},
  }));
  CAPTURE(type);
  const Disk disk(size);
  std::vector<std::string> command = argv;
  command.push_back(disk.device().path);
  REQUIRE(os::RunCommandOrFail(command, std::chrono::minutes(1)).ok());
  CheckIsLeftAlone(disk, type);
}

TEST_CASE("a damaged superblock is still a signature") {
  const Disk disk(kSize);
  REQUIRE(FindFilesystem("ext4")->Make(disk.device(), {.uuid = kUuid, .extra = {}}).ok());
  disk.Write(1024 + 0x3FC, "\x13\x57\x9b\xdf");  // s_checksum
  CheckIsLeftAlone(disk, "ext4");
}

TEST_CASE("contradicting signatures are an error") {
  const Disk disk(kSize);
  REQUIRE(FindFilesystem("ext4")->Make(disk.device(), {.uuid = kUuid, .extra = {}}).ok());
  disk.Write(0, "hsqs");
  disk.Write(28, std::string_view("\4\0", 2));
  const std::string before = disk.Content();
  CHECK(Probe(disk.device()).status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(RequireBlank(disk.device()).code() == absl::StatusCode::kFailedPrecondition);
  // It is enough to report the recorded filesystem; any other content is not overlooked.
  CHECK(RequireFilesystem(disk.device(), "ext4", kUuid).ok());
  CHECK(RequireFilesystem(disk.device(), "ext4", kOtherUuid).code() ==
        absl::StatusCode::kFailedPrecondition);
  const bool equal = disk.Content() == before;
  CHECK(equal);
}

TEST_CASE("unknown bytes at head or tail are not blank") {
  const Bytes offset = GENERATE(as<Bytes>(), 0, 700, kMiB - 3, kSize - kMiB, kSize - 3);
  CAPTURE(offset);
  const Disk disk(kSize);
  disk.Write(offset, "x");
  REQUIRE(Probe(disk.device())->content == Content::kNothingRecognised);
  const absl::Status status = RequireBlank(disk.device());
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("left alone"));
}

TEST_CASE("a device that cannot be read is an error, never blank") {
  const Disk disk(kSize);
  // The loop keeps its size; reads beyond the file's end fail.
  REQUIRE(::ftruncate(disk.image.fd(), 0) == 0);
  CHECK(Probe(disk.device()).status().code() == absl::StatusCode::kInternal);
  CHECK(RequireBlank(disk.device()).code() == absl::StatusCode::kInternal);
  CHECK(RequireFilesystem(disk.device(), "ext4", kUuid).code() == absl::StatusCode::kInternal);
}

TEST_CASE("a device whose tail cannot be read is an error, never blank") {
  const Disk disk(kSize);
  REQUIRE(::ftruncate(disk.image.fd(), kSize - kMiB) == 0);
  CHECK(RequireBlank(disk.device()).code() == absl::StatusCode::kInternal);
}

TEST_CASE("a device that somebody holds is not blank") {
  const Disk disk(kSize);
  const os::UniqueFd holder = disk.OpenNode(O_RDONLY | O_EXCL);
  const absl::Status status = RequireBlank(disk.device());
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("in use"));
}

TEST_CASE("a node that has become another device is not read") {
  const Disk disk(kSize);
  const Disk other(kSize);
  os::BlockDevice device = disk.device();
  device.number = other.device().number;
  CHECK(Probe(device).status().code() == absl::StatusCode::kInternal);
  CHECK(RequireBlank(device).code() == absl::StatusCode::kInternal);
}

TEST_CASE("a filesystem is told by type and UUID") {
  const auto [type, superblock, length] = GENERATE(table<std::string, Bytes, std::size_t>({
      {"ext3", 1024, 1024},
      {"ext4", 1024, 1024},
      {"xfs", 0, 512},
      {"btrfs", 64 * kKiB, 4096},
  }));
  CAPTURE(type);
  const Filesystem* filesystem = FindFilesystem(type);
  const Disk disk(filesystem->min_size());
  REQUIRE(RequireBlank(disk.device()).ok());
  REQUIRE(filesystem->Make(disk.device(), {.uuid = kUuid, .extra = {}}).ok());

  CHECK(RequireFilesystem(disk.device(), type, kUuid).ok());
  const absl::Status other_uuid = RequireFilesystem(disk.device(), type, kOtherUuid);
  CHECK(other_uuid.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(other_uuid), Catch::Contains(kUuid) && Catch::Contains(kOtherUuid));
  const std::string other_type = type == "ext4" ? "ext3" : "ext4";
  CHECK(RequireFilesystem(disk.device(), other_type, kUuid).code() ==
        absl::StatusCode::kFailedPrecondition);

  disk.Write(superblock, std::string(length, '\0'));
  const absl::Status wiped = RequireFilesystem(disk.device(), type, kUuid);
  CHECK(wiped.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(wiped), Catch::Contains("not formatted again"));
}

}  // namespace probe_test
}  // namespace holdfast::fs
