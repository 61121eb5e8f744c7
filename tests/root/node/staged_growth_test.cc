// SPDX-License-Identifier: Apache-2.0
#include "node/staged_growth.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <string>

#include "node/expander.h"
#include "node/stage_reconciler.h"
#include "os/freeze.h"
#include "os/unique_fd.h"
#include "support/node_fixture.h"
#include "support/outcome.h"

namespace holdfast::node {
namespace staged_growth_test {

using test::MountSpec;
using test::NodeFixture;

// FIFREEZE fails with EBUSY on a filesystem that is frozen already.
bool IsFrozen(const std::string& path) {
  const os::UniqueFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(root.valid());
  if (::ioctl(root.get(), FIFREEZE, 0) != 0) return errno == EBUSY;
  REQUIRE(::ioctl(root.get(), FITHAW, 0) == 0);
  return false;
}

// The state after a process was killed between freeze and thaw.
struct Fixture : NodeFixture {
  VolumeId StageFrozen() {
    const VolumeId id = Create(MountSpec("pvc-1", "xfs", 320 * kMiB)).id;
    REQUIRE_OK(Stage(id));
    auto record = test::Value(stages.Find(id.ToString()));
    record.growing = record.freezing = true;
    REQUIRE_OK(stages.Write(record));
    const os::UniqueFd root(::open(staging().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::ioctl(root.get(), FIFREEZE, 0) == 0);
    return id;
  }
  void CheckRunsAndUnstage(const VolumeId& id) {
    CHECK_FALSE(IsFrozen(staging()));
    WriteFile(staging() + "/data", "precious");
    REQUIRE_OK(Unstage(id));
  }
};

TEST_CASE_METHOD(Fixture, "a filesystem that a killed growth left frozen runs on by itself") {
  const VolumeId id = StageFrozen();
  CHECK(test::Value(StageReconciler(*pools, node_state).Repair(id.ToString())));
  CHECK_FALSE(test::Value(stages.Find(id.ToString())).growing);
  CheckRunsAndUnstage(id);
}

TEST_CASE_METHOD(Fixture, "a repeated stage ends an interrupted growth") {
  const VolumeId id = StageFrozen();
  REQUIRE_OK(pool->Grow(id, 640 * kMiB, 0));
  REQUIRE_OK(Stage(id));
  CHECK_FALSE(test::Value(stages.Find(id.ToString())).growing);
  CheckRunsAndUnstage(id);
}

TEST_CASE_METHOD(Fixture, "a repeated expansion ends an interrupted growth") {
  const VolumeId id = StageFrozen();
  CHECK(test::Value(Expander(*pools, stages).Expand(id.ToString(), 640 * kMiB, 0)) == 640 * kMiB);
  CHECK_FALSE(test::Value(stages.Find(id.ToString())).growing);
  CheckRunsAndUnstage(id);
}

TEST_CASE_METHOD(Fixture, "a volume that a killed growth left frozen can be unstaged at once") {
  const VolumeId id = StageFrozen();
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(Fixture, "a volume that somebody in a pod left frozen can be unstaged") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", 32 * kMiB)).id;
  REQUIRE_OK(Stage(id));
  {
    const os::UniqueFd root(::open(staging().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::ioctl(root.get(), FIFREEZE, 0) == 0);
  }
  REQUIRE_OK(Unstage(id));
  CheckGone(id);
}

TEST_CASE_METHOD(Fixture, "a freeze that others hold is left to them") {
  const VolumeId id = Create(MountSpec("pvc-1", "xfs", 320 * kMiB)).id;
  REQUIRE_OK(Stage(id));
  {
    const os::UniqueFd root(::open(staging().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::ioctl(root.get(), FIFREEZE, 0) == 0);
    CHECK_FALSE(test::Value(StageReconciler(*pools, node_state).Repair(id.ToString())));
    CHECK(IsFrozen(staging()));
    CHECK_FAILS(os::FlushByFreezing(root.get()), kFailedPrecondition, "frozen");
    CHECK(IsFrozen(staging()));
    REQUIRE_OK(os::Thaw(root.get()));
    REQUIRE_OK(os::Thaw(root.get()));
  }
  REQUIRE_OK(Unstage(id));
}

TEST_CASE_METHOD(NodeFixture,
                 "a volume is torn down while its pool's directory cannot be reached") {
  const VolumeId id = Create(MountSpec("pvc-1", "ext4", 32 * kMiB)).id;
  REQUIRE_OK(Stage(id));
  const std::string location = pool->info().location;
  MountTmpfs(location);  // another disk is mounted over the pool
  CHECK_FAILS(pool->Get(id), kFailedPrecondition, "");
  REQUIRE_OK(Unstage(id));
  UnmountPlainly(location);
  CheckGone(id);
}

}  // namespace staged_growth_test
}  // namespace holdfast::node
