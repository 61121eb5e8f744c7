// SPDX-License-Identifier: Apache-2.0
// Growth of the filesystems, before the mount and while mounted.
#include <unistd.h>

#include "fs/filesystem.h"
#include "os/capabilities.h"
#include "os/freeze.h"
#include "support/formatted_volume.h"

namespace holdfast::fs {
namespace filesystem_growth_test {

using test::FormattedVolume;
using test::ReadFile;
using test::WriteFile;

constexpr Bytes kPage = 4 * kKiB;

// Offline growth of ext is for processes that may not grow it online.
bool GrowsBeforeMount(const FormattedVolume& volume) {
  return volume.filesystem().name().starts_with("ext") && !os::HasCapSysResource();
}

// One enlargement: grown before the mount or while mounted, then CanGrow says no and the data is
// there. Returns the filesystem's size.
Bytes EnlargeAndGrow(FormattedVolume& volume, Bytes size) {
  INFO("to " << size << " bytes");
  volume.Unmount();
  volume.Enlarge(size);
  REQUIRE(volume.PrepareMount().ok());
  volume.Mount();
  if (GrowsBeforeMount(volume)) CHECK_FALSE(volume.CanGrow());
  const absl::Status grown =
      volume.filesystem().Grow(volume.device(), volume.path(), os::FlushByFreezing);
  INFO(grown);
  REQUIRE(grown.ok());
  CHECK_FALSE(volume.CanGrow());
  CHECK(ReadFile(volume.path() + "/file") == "content");
  return volume.Size();
}

TEST_CASE("every filesystem grows to a much larger device") {
  const auto [type, from] = GENERATE(table<std::string, Bytes>({
      {"ext4", 16 * kMiB},
      {"ext3", 16 * kMiB},
      {"ext4", 300 * kMiB},
      {"xfs", 300 * kMiB},
      {"btrfs", 256 * kMiB},
  }));
  CAPTURE(type, from);
  FormattedVolume volume(type, from);
  volume.Make();
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  const Bytes before = volume.Size();
  const Bytes after = EnlargeAndGrow(volume, from + kGiB);
  CHECK(after - before > kGiB * 9 / 10);
  CHECK(after - before <= kGiB);
}

TEST_CASE("CanGrow and Grow agree for odd sizes") {
  const auto [type, from] = GENERATE(table<std::string, Bytes>({
      {"ext4", 128 * kMiB},
      {"ext3", 128 * kMiB},
      {"xfs", 300 * kMiB},
      {"btrfs", 256 * kMiB},
      {"ext4", 127 * kMiB + 3 * kPage},
      {"xfs", 301 * kMiB + 5 * kPage},
      {"btrfs", 257 * kMiB + 7 * kPage},
  }));
  CAPTURE(type, from);
  FormattedVolume volume(type, from);
  volume.Make();
  volume.Mount();
  CHECK_FALSE(volume.CanGrow());
  WriteFile(volume.path() + "/file", "content");
  Bytes size = from;
  for (const int pages : {1, 2, 15, 45, 1, 1, 63, 64, 300, 4000, 12288, 16383, 19137, 31999, 7}) {
    const Bytes before = volume.Size();
    size += pages * kPage;
    CHECK(EnlargeAndGrow(volume, size) >= before);
  }
}

TEST_CASE("an xfs remainder too small for an allocation group is not offered") {
  FormattedVolume volume("xfs", 300 * kMiB);  // groups of 75 MiB
  volume.Make();
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  volume.Enlarge(300 * kMiB + 63 * kPage);
  CHECK_FALSE(volume.CanGrow());
  volume.Enlarge(300 * kMiB + 64 * kPage);
  CHECK(volume.CanGrow());
  REQUIRE(volume.filesystem().Grow(volume.device(), volume.path(), os::FlushByFreezing).ok());
  CHECK_FALSE(volume.CanGrow());
}

TEST_CASE("growth while mounted shows at once, or says what is missing") {
  const std::string type = GENERATE("ext4", "ext3", "xfs", "btrfs");
  CAPTURE(type);
  FormattedVolume volume(type, 300 * kMiB);
  volume.Make();
  volume.Mount();
  const Bytes before = volume.Size();
  volume.Enlarge(600 * kMiB);
  CHECK(volume.CanGrow());
  const absl::Status status =
      volume.filesystem().Grow(volume.device(), volume.path(), os::FlushByFreezing);
  INFO(status);
  if (GrowsBeforeMount(volume)) {
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(MessageOf(status), Catch::Contains("CAP_SYS_RESOURCE"));
    CHECK(volume.CanGrow());
    CHECK(volume.Size() == before);
  } else {
    CHECK(status.ok());
    CHECK_FALSE(volume.CanGrow());
    CHECK(volume.Size() > before + 250 * kMiB);
  }
}

// A process that is killed while it thaws a btrfs leaves it read-only.
TEST_CASE("btrfs is never frozen for its growth") {
  FormattedVolume volume("btrfs", 256 * kMiB);
  volume.Make();
  volume.Mount();
  volume.Enlarge(600 * kMiB);
  int freezes = 0;
  REQUIRE(volume.filesystem()
              .Grow(volume.device(), volume.path(),
                    [&](int) {
                      ++freezes;
                      return absl::OkStatus();
                    })
              .ok());
  CHECK(freezes == 0);
  CHECK_FALSE(volume.CanGrow());
}

TEST_CASE("recorded errors are named when ext cannot grow while mounted") {
  if (os::HasCapSysResource()) {
    WARN("skipped: a kernel that may grow ext4 has its own copy of the error flag");
    return;
  }
  FormattedVolume volume("ext4", 64 * kMiB);
  volume.Make();
  volume.Debugfs("set_super_value state 3");
  volume.Mount();
  volume.Enlarge(128 * kMiB);
  const absl::Status status =
      volume.filesystem().Grow(volume.device(), volume.path(), os::FlushByFreezing);
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(status), Catch::Contains("recorded errors"));
}

TEST_CASE("nothing is grown where the device is not mounted") {
  const std::string type = GENERATE("ext4", "xfs", "btrfs");
  CAPTURE(type);
  FormattedVolume volume(type, 300 * kMiB);
  volume.Make();
  volume.Enlarge(600 * kMiB);
  CHECK(volume.filesystem().CanGrow(volume.device(), volume.path()).status().code() ==
        absl::StatusCode::kInternal);
  const absl::Status status =
      volume.filesystem().Grow(volume.device(), volume.path(), os::FlushByFreezing);
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK_THAT(MessageOf(status), Catch::Contains("not mounted"));
  CHECK(volume.filesystem()
            .Grow(volume.device(), volume.path() + "/none", os::FlushByFreezing)
            .code() == absl::StatusCode::kNotFound);
}

TEST_CASE("the journal of an interrupted mount is replayed before offline growth") {
  FormattedVolume volume("ext4", 64 * kMiB);
  volume.Make();
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  // A copy of the mounted device is the state after a power cut.
  const std::string crashed = volume.ReadDevice(0, 64 * kMiB);
  volume.Unmount();
  volume.WriteDevice(0, crashed);
  EnlargeAndGrow(volume, 128 * kMiB);
}

}  // namespace filesystem_growth_test
}  // namespace holdfast::fs
