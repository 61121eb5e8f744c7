// SPDX-License-Identifier: Apache-2.0
// A change of the UUID that was killed between two writes of xfs_db: it writes the log first, then
// the superblocks of all groups, the first one first. tests/crash kills it at each of its writes.
#include <fcntl.h>

#include "fs/superblock.h"
#include "support/formatted_volume.h"

namespace holdfast::fs {
namespace xfs_undo_test {

using test::FormattedVolume;
using test::ReadFile;
using test::WriteFile;

constexpr std::size_t kSector = 512;
constexpr char kOther[] = "7d5b3c08-3f0f-4f9c-8f64-5c9d3a1e2b60";

void Run(const std::vector<std::string>& argv) {
  const absl::Status status = os::RunCommandOrFail(argv, std::chrono::minutes(1));
  INFO(status);
  REQUIRE(status.ok());
}

std::vector<Bytes> PlacesOfSuperblocks(const FormattedVolume& volume) {
  const os::UniqueFd fd(::open(volume.device().path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto superblock = ReadPiece(fd.get(), 0);
  REQUIRE(superblock.ok());
  const Bytes group = Bytes{Big32(*superblock, 84)} * Big32(*superblock, 4);
  std::vector<Bytes> places;
  for (std::uint32_t i = 0; i < Big32(*superblock, 88); ++i) places.push_back(i * group);
  return places;
}

bool Has(const FormattedVolume& volume, const std::string& uuid) {
  const os::UniqueFd fd(::open(volume.device().path.c_str(), O_RDONLY | O_CLOEXEC));
  return HasSuperblock(fd.get(), "xfs", uuid);
}

TEST_CASE("a change of the UUID of an xfs that was killed after its log leaves all files") {
  FormattedVolume volume("xfs", 300 * kMiB);
  volume.Make();
  volume.Mount();
  WriteFile(volume.path() + "/file", "content");
  volume.Unmount();
  const std::vector<Bytes> places = PlacesOfSuperblocks(volume);
  REQUIRE(places.size() > 2);
  std::vector<std::string> before;
  for (const Bytes place : places) before.push_back(volume.ReadDevice(place, kSector));
  WriteFile(volume.undo_path(), "");
  Run({"xfs_db", "-x", "-p", "test", "-c", std::string("uuid ") + kOther, volume.device().path});
  const std::size_t written = GENERATE(0U, 1U, 2U);
  CAPTURE(written);
  for (std::size_t i = written; i < places.size(); ++i) volume.WriteDevice(places[i], before[i]);

  const absl::Status undone =
      volume.filesystem().UndoInterrupted(volume.device(), volume.undo_path());
  INFO(undone);
  REQUIRE(undone.ok());
  CHECK(::access(volume.undo_path().c_str(), F_OK) != 0);
  CHECK(Has(volume, written == 0 ? volume.uuid() : kOther));
  Run({"xfs_repair", "-n", volume.device().path});
  volume.Mount();
  CHECK(ReadFile(volume.path() + "/file") == "content");
}

}  // namespace xfs_undo_test
}  // namespace holdfast::fs
