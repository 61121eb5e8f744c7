// SPDX-License-Identifier: Apache-2.0
// Copies of a btrfs that is in use: what was fsynced since the last commit is in its log only.
#include "fs/btrfs_identity.h"

#include <fcntl.h>
#include <unistd.h>

#include "fs/filesystem.h"
#include "fs/probe.h"
#include "support/formatted_volume.h"
#include "support/outcome.h"

namespace holdfast::fs {
namespace btrfs_identity_test {

using test::FormattedVolume;
using test::ReadFile;
using test::Value;
using test::WriteFile;

constexpr Bytes kSize = 300 * kMiB;

void Fsync(const std::string& path) {
  const os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  REQUIRE(::fsync(fd.get()) == 0);
}

// Everything that the device has now, also of a mounted filesystem.
void CopyDevice(const FormattedVolume& from, const FormattedVolume& to) {
  const os::UniqueFd fd(::open(to.device().path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(fd.valid());
  for (Bytes offset = 0; offset < kSize; offset += kMiB) {
    const std::string bytes = from.ReadDevice(offset, static_cast<std::size_t>(kMiB));
    REQUIRE(::pwrite(fd.get(), bytes.data(), bytes.size(), offset) == kMiB);
  }
  REQUIRE(::fsync(fd.get()) == 0);
}

TEST_CASE("a btrfs with a log to replay gets another UUID and keeps what was fsynced") {
  FormattedVolume origin("btrfs", kSize);
  origin.Make();
  origin.Mount();
  WriteFile(origin.path() + "/fsynced", "content");
  Fsync(origin.path() + "/fsynced");
  CHECK(Value(KeepsMetadataUuid(origin.device())));
  FormattedVolume copy("btrfs", kSize);
  CopyDevice(origin, copy);
  const Filesystem& btrfs = *FindFilesystem("btrfs");
  for (int call = 0; call < 2; ++call) {  // it may be repeated
    REQUIRE_OK(btrfs.ChangeUuid(copy.device(), copy.uuid(), copy.undo_path()));
    REQUIRE_OK(RequireFilesystem(copy.device(), "btrfs", copy.uuid()));
  }
  copy.Mount();  // beside its origin
  CHECK(ReadFile(copy.path() + "/fsynced") == "content");
  WriteFile(copy.path() + "/later", "more");
  REQUIRE_OK(RequireFilesystem(origin.device(), "btrfs", origin.uuid()));

  copy.Unmount();  // a copy of the copy, without a log
  FormattedVolume second("btrfs", kSize);
  CopyDevice(copy, second);
  CHECK(Value(KeepsMetadataUuid(second.device())));
  REQUIRE_OK(btrfs.ChangeUuid(second.device(), second.uuid(), second.undo_path()));
  copy.Mount();
  second.Mount();
  CHECK(ReadFile(second.path() + "/fsynced") == "content");
  CHECK(ReadFile(second.path() + "/later") == "more");
}

TEST_CASE("a btrfs with a damaged superblock is left alone") {
  FormattedVolume volume("btrfs", kSize);
  volume.Make();
  const os::UniqueFd fd(::open(volume.device().path.c_str(), O_WRONLY | O_CLOEXEC));
  constexpr Bytes kLabel = 64 * kKiB + 0x12b;
  REQUIRE(::pwrite(fd.get(), "x", 1, kLabel) == 1);
  REQUIRE(::fsync(fd.get()) == 0);
  const std::string before = volume.ReadDevice(64 * kKiB, 4096);
  CHECK_FAILS(ChangeBtrfsSuperblock(volume.device(), volume.uuid()), kFailedPrecondition,
              "is damaged");
  CHECK(volume.ReadDevice(64 * kKiB, 4096) == before);
}

}  // namespace btrfs_identity_test
}  // namespace holdfast::fs
