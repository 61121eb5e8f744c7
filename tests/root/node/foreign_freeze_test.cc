// SPDX-License-Identifier: Apache-2.0
// If another program, such as a backup, has frozen a volume's filesystem, the driver leaves it
// frozen, and no call hangs.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "node/expander.h"
#include "node/stage_reconciler.h"
#include "node/staged_growth.h"
#include "os/capabilities.h"
#include "os/unique_fd.h"
#include "support/formatted_volume.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace foreign_freeze_test {

using test::MountSpec;
using test::NodeFixture;
using test::Value;

// Freezes the filesystem mounted at a path, as fsfreeze(8) does. It must still be frozen when it is
// thawed.
class ForeignFreeze final {
 public:
  explicit ForeignFreeze(const std::string& path)
      : root_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    REQUIRE(::ioctl(root_.get(), FIFREEZE, 0) == 0);
  }
  ForeignFreeze(const ForeignFreeze&) = delete;
  ForeignFreeze& operator=(const ForeignFreeze&) = delete;
  ~ForeignFreeze() {
    if (root_.valid()) ::ioctl(root_.get(), FITHAW, 0);
  }
  // As a kill leaves it.
  void Leave() { root_ = os::UniqueFd(); }
  void CheckHeld() { CHECK((::ioctl(root_.get(), FIFREEZE, 0) != 0 && errno == EBUSY)); }
  void End() {
    CheckHeld();
    REQUIRE(::ioctl(root_.get(), FITHAW, 0) == 0);
    root_ = os::UniqueFd();
  }

 private:
  os::UniqueFd root_;
};

struct Fixture : NodeFixture {
  VolumeId StageNew(const std::string& type) {
    const VolumeId id = Create(MountSpec("pvc-1", type, 320 * kMiB)).id;
    REQUIRE_OK(Stage(id));
    return id;
  }
  [[nodiscard]] absl::Status Expand(const VolumeId& id, Bytes size) const {
    return Expander(*pools, stages).Expand(id.ToString(), size, 0).status();
  }
  [[nodiscard]] absl::StatusOr<bool> Repair(const VolumeId& id) const {
    return StageReconciler(*pools, node_state).Repair(id.ToString());
  }
  [[nodiscard]] state::StageRecord Record(const VolumeId& id) const {
    return Value(stages.Find(id.ToString()));
  }
  void Mark(const VolumeId& id, bool freezing) {
    state::StageRecord record = Record(id);
    record.growing = true;
    record.freezing = freezing;
    REQUIRE_OK(stages.Write(record));
  }
};

TEST_CASE_METHOD(Fixture, "an expansion with nothing to grow leaves a freeze alone") {
  const VolumeId id = StageNew("xfs");
  ForeignFreeze freeze(staging());
  CHECK_FAILS(Expand(id, 320 * kMiB), kFailedPrecondition, "frozen by another program");
  CHECK_FALSE(Record(id).freezing);
  freeze.End();
  REQUIRE_OK(Expand(id, 320 * kMiB));
  CHECK_FALSE(Record(id).growing);
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "an expansion of a frozen filesystem says so at once, and is taken up") {
  const std::string type = GENERATE("ext4", "xfs");
  const VolumeId id = StageNew(type);
  const bool may_grow = type != "ext4" || os::HasCapSysResource();
  CAPTURE(type, may_grow);
  ForeignFreeze freeze(staging());
  CHECK_FAILS(Expand(id, 640 * kMiB), kFailedPrecondition,
              may_grow ? "frozen by another program" : "CAP_SYS_RESOURCE");
  freeze.CheckHeld();
  CHECK(Record(id).growing == may_grow);
  CHECK_FALSE(Record(id).freezing);
  if (may_grow) CHECK_FAILS(Repair(id), kFailedPrecondition, "frozen by another program");
  freeze.End();
  if (may_grow) {
    CHECK(Value(Repair(id)));
    CHECK(std::filesystem::space(staging()).capacity > 500 * kMiB);
    CHECK_FALSE(Record(id).growing);
  }
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "an expansion of a frozen btrfs ends when the freeze does") {
  const VolumeId id = StageNew("btrfs");
  ForeignFreeze freeze(staging());
  CHECK_FAILS(Expand(id, 640 * kMiB), kUnavailable, "another program holds");
  CHECK_FAILS(Expand(id, 640 * kMiB), kUnavailable, "still under way");
  CHECK(Record(id).growing);
  CHECK_FALSE(Record(id).freezing);
  CHECK_FAILS(Repair(id), kUnavailable, "still under way");
  freeze.End();
  while (absl::IsUnavailable(Repair(id).status())) std::this_thread::yield();
  CHECK(std::filesystem::space(staging()).capacity > 500 * kMiB);
  CHECK_FALSE(Record(id).growing);
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "a frozen btrfs whose growth waits can be unstaged") {
  const VolumeId id = StageNew("btrfs");
  ForeignFreeze freeze(staging());
  CHECK_FAILS(Expand(id, 640 * kMiB), kUnavailable, "another program holds");
  freeze.Leave();
  REQUIRE_OK(Unstage(id));
  REQUIRE_OK(Stage(id));
  CHECK(std::filesystem::space(staging()).capacity > 500 * kMiB);
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "a stage of what is mounted and frozen leaves the freeze alone") {
  const VolumeId id = StageNew("xfs");
  REQUIRE_OK(pool->Grow(id, 640 * kMiB, 0));
  ForeignFreeze freeze(staging());
  REQUIRE_OK(Stage(id));
  freeze.End();
  REQUIRE_OK(Stage(id));
  CHECK(std::filesystem::space(staging()).capacity > 500 * kMiB);
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(Fixture, "an interrupted growth that had not come to freeze thaws nothing") {
  const VolumeId id = StageNew("xfs");
  Mark(id, /*freezing=*/false);
  ForeignFreeze freeze(staging());
  CHECK_FAILS(Repair(id), kFailedPrecondition, "frozen by another program");
  freeze.CheckHeld();
  CHECK_FAILS(Expand(id, 0), kFailedPrecondition, "frozen by another program");
  freeze.CheckHeld();
  REQUIRE_OK(Stage(id));
  freeze.End();
  CHECK(Value(Repair(id)));
  REQUIRE_OK(Unstage(id));
}

// The staging mount is gone, a publication remains, and another filesystem is mounted in its place.
TEST_CASE_METHOD(Fixture, "the driver's own freeze is ended where the volume is, not at a path") {
  const VolumeId id = StageNew("xfs");
  REQUIRE_OK(Publish(id, target()));
  Mark(id, /*freezing=*/true);
  ForeignFreeze(target()).Leave();
  UnmountPlainly(staging());
  test::FormattedVolume other("ext4", 32 * kMiB);
  other.Make();
  REQUIRE(::mount(other.device().path.c_str(), staging().c_str(), "ext4", 0, nullptr) == 0);
  {
    ForeignFreeze freeze(staging());
    CHECK(Value(Repair(id)));
    freeze.End();
  }
  UnmountPlainly(staging());
  CHECK_FALSE(Record(id).freezing);
  test::WriteFile(target() + "/data", "precious");  // would wait permanently if it were frozen
  REQUIRE_OK(Unpublish(id, target()));
  REQUIRE_OK(Unstage(id));
}

// A kill came after the mount, before the growth had its mark.
TEST_CASE_METHOD(Fixture, "a repeated stage grows what is mounted and has no mark") {
  const std::string type = GENERATE("xfs", "btrfs");
  const VolumeId id = StageNew(type);
  REQUIRE_OK(pool->Grow(id, 640 * kMiB, 0));
  const bool has_record = GENERATE(true, false);
  if (!has_record) REQUIRE_OK(stages.Remove(id.ToString()));
  REQUIRE_OK(Stage(id));
  CHECK(std::filesystem::space(staging()).capacity > 500 * kMiB);
  REQUIRE_OK(Unstage(id));
}

}  // namespace foreign_freeze_test
}  // namespace holdfast::node
