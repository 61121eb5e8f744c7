// SPDX-License-Identifier: Apache-2.0
// A node that stages and publishes the volumes of a real file pool.
#pragma once

#include <sys/mount.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "node/publisher.h"
#include "node/stager.h"
#include "os/mount_table.h"
#include "state/node_state.h"
#include "support/file_pool_fixture.h"

namespace holdfast::test {

inline VolumeUse MountUse(AccessMode mode = AccessMode::kSingleNodeMultiWriter,
                          std::vector<std::string> flags = {}) {
  VolumeUse use;
  use.access_mode = mode;
  use.mount_flags = std::move(flags);
  return use;
}

inline VolumeUse BlockUse(AccessMode mode = AccessMode::kSingleNodeMultiWriter) {
  VolumeUse use = MountUse(mode);
  use.access_type = AccessType::kBlock;
  return use;
}

class NodeFixture : public FilePoolFixture {
 public:
  NodeFixture() : node_state(Value(state::NodeState::Open(state.get()))) {
    std::filesystem::create_directory(staging());
    std::filesystem::create_directory(pods());
  }
  ~NodeFixture() {
    // Only a failed test has anything left here; the mounts belong to this test.
    const auto mounts = os::MountTable::Read();
    if (!mounts.ok()) return;
    const auto& entries = mounts->entries();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      if (!entry->target.starts_with(directory.path() + "/")) continue;
      WARN("left mounted: " << entry->target);
      ::umount2(entry->target.c_str(), UMOUNT_NOFOLLOW);
    }
  }

  [[nodiscard]] std::string staging() const { return directory.path("globalmount"); }
  [[nodiscard]] std::string pods() const { return directory.path("pods"); }
  [[nodiscard]] std::string target(const std::string& name = "a") const {
    return pods() + "/" + name;
  }

  [[nodiscard]] absl::Status Stage(const VolumeId& id, const VolumeUse& use = MountUse()) const {
    return StageAt(id, staging(), use);
  }
  [[nodiscard]] absl::Status StageAt(const VolumeId& id, const std::string& path,
                                     const VolumeUse& use) const {
    return node::Stager(*pools, node_state, path_locks).Stage(id.ToString(), path, use);
  }
  [[nodiscard]] absl::Status Unstage(const VolumeId& id) const {
    return node::Stager(*pools, node_state, path_locks).Unstage(id.ToString(), staging());
  }
  [[nodiscard]] absl::Status Publish(const VolumeId& id, const std::string& path,
                                     const VolumeUse& use = MountUse(),
                                     bool read_only = false) const {
    return node::Publisher(*pools, stages, path_locks)
        .Publish({.volume_id = id.ToString(),
                  .staging_path = staging(),
                  .target_path = path,
                  .use = use,
                  .read_only = read_only});
  }
  [[nodiscard]] absl::Status Unpublish(const VolumeId& id, const std::string& path) const {
    return node::Publisher(*pools, stages, path_locks).Unpublish(id.ToString(), path);
  }

  // How many mounts are stacked at exactly this path.
  [[nodiscard]] static int MountsAt(const std::string& path) {
    int count = 0;
    const os::MountTable mounts = Value(os::MountTable::Read());
    for (const os::MountEntry& entry : mounts.entries()) {
      if (entry.target == path) ++count;
    }
    return count;
  }
  [[nodiscard]] static os::MountEntry MountAt(const std::string& path) {
    const os::MountTable mounts = Value(os::MountTable::Read());
    const os::MountEntry* const entry = mounts.At(path);
    REQUIRE(entry != nullptr);
    return *entry;
  }
  [[nodiscard]] static bool Exists(const std::string& path) {
    struct stat facts {};
    return ::lstat(path.c_str(), &facts) == 0;
  }
  static void MountTmpfs(const std::string& path) {
    REQUIRE(::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=64k") == 0);
  }
  static void UnmountPlainly(const std::string& path) {
    REQUIRE(::umount2(path.c_str(), UMOUNT_NOFOLLOW) == 0);
  }

  // No device, mount or stage record of the volume remains.
  void CheckGone(const VolumeId& id) const {
    CHECK_FALSE(IsAttached(id));
    CHECK(MountsAt(staging()) == 0);
    CHECK(CodeOf(stages.Find(id.ToString())) == absl::StatusCode::kNotFound);
  }

  state::NodeState node_state;
  const state::StageStore& stages = node_state.stages;
  mutable KeyLock path_locks;
};

}  // namespace holdfast::test
