// SPDX-License-Identifier: Apache-2.0
// Image files, loop devices and mounts that are removed with the test that made them.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/file.h"
#include "os/loop_device.h"
#include "os/process.h"
#include "os/unique_fd.h"
#include "support/temp_directory.h"

namespace holdfast::test {

// A sparse file, open for reading and writing.
class ImageFile final {
 public:
  ImageFile(std::string path, Bytes size) : path_(std::move(path)) {
    fd_ = Open(O_RDWR | O_CREAT | O_EXCL);
    REQUIRE(::ftruncate(fd_.get(), size) == 0);
  }
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;
  ~ImageFile() { ::unlink(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

  // A further open file description.
  [[nodiscard]] os::UniqueFd Open(int flags) const {
    os::UniqueFd fd(::open(path_.c_str(), flags | O_CLOEXEC, 0600));
    REQUIRE(fd.valid());
    return fd;
  }

  [[nodiscard]] Bytes AllocatedBytes() const {
    struct stat facts {};
    REQUIRE(::fstat(fd_.get(), &facts) == 0);
    return facts.st_blocks * 512;
  }

 private:
  std::string path_;
  os::UniqueFd fd_;
};

// A loop device that is detached at the end unless the test has done it.
class AttachedLoop final {
 public:
  explicit AttachedLoop(int image_fd, const os::LoopOptions& options = {}) {
    absl::StatusOr<os::LoopDevice> loop = os::AttachLoop(image_fd, options);
    INFO(loop.status().ToString());
    REQUIRE(loop.ok());
    loop_ = *loop;
  }
  AttachedLoop(const AttachedLoop&) = delete;
  AttachedLoop& operator=(const AttachedLoop&) = delete;
  ~AttachedLoop() {
    if (loop_.index < 0) return;
    const absl::Status status = os::DetachLoop(loop_);
    if (!status.ok()) WARN("left attached: " << status);
  }

  [[nodiscard]] const os::LoopDevice& get() const { return loop_; }
  const os::LoopDevice* operator->() const { return &loop_; }

  // Transfers ownership to the test: nothing is detached at the end.
  os::LoopDevice Release() { return std::exchange(loop_, os::LoopDevice{}); }

 private:
  os::LoopDevice loop_;
};

// The loop device on the open file, whichever program attached it: one without a label before one
// with a label.
inline absl::StatusOr<std::optional<os::LoopDevice>> FindLoop(int image_fd, int hint = -1) {
  const auto loops = os::FindLoops(image_fd, "", hint);
  if (!loops.ok()) return loops.status();
  return loops->own ? loops->own : loops->other;
}

// The content of /sys/block/loopN/`name`; empty if it does not exist.
inline std::string SysfsText(int index, const std::string& name) {
  std::string text;
  std::ifstream(fmt::format("/sys/block/loop{}/{}", index, name)) >> text;
  return text;
}

inline os::UniqueFd OpenNode(const os::LoopDevice& loop, int flags) {
  os::UniqueFd node(::open(loop.block.path.c_str(), flags | O_CLOEXEC));
  REQUIRE(node.valid());
  return node;
}

// Attaches without AttachLoop, as an operator would.
inline os::LoopDevice Losetup(std::vector<std::string> options, const ImageFile& image) {
  options.insert(options.begin(), {"losetup", "--find", "--show"});
  options.push_back(image.path());
  const auto result = os::RunCommand(options, std::chrono::seconds(30));
  REQUIRE(result.ok());
  REQUIRE(result->exit_code == 0);
  os::LoopDevice loop;
  REQUIRE(std::sscanf(result->output.c_str(), "/dev/loop%d", &loop.index) == 1);
  loop.block = *os::InspectBlockDevice(fmt::format("/dev/loop{}", loop.index));
  return loop;
}

inline void LosetupDetach(const os::LoopDevice& loop) {
  const auto limit = std::chrono::seconds(30);
  REQUIRE(os::RunCommandOrFail({"losetup", "--detach", loop.block.path}, limit).ok());
}

// A filesystem on a separate loop device, mounted below a temporary directory. `mkfs` is the
// command without the device.
class MountedFilesystem final {
 public:
  MountedFilesystem(const std::string& type, std::vector<std::string> mkfs, Bytes size,
                    const os::LoopOptions& options = {})
      : image_(directory_.path("image"), size), loop_(image_.fd(), options) {
    mkfs.push_back(loop_->block.path);
    const absl::Status made = os::RunCommandOrFail(mkfs, std::chrono::minutes(1));
    INFO(made.ToString());
    REQUIRE(made.ok());
    REQUIRE(os::MakeDirectoryAt(directory_.fd(), "mount", 0700).ok());
    Mount(type);
  }
  MountedFilesystem(const MountedFilesystem&) = delete;
  MountedFilesystem& operator=(const MountedFilesystem&) = delete;
  ~MountedFilesystem() { Unmount(); }

  [[nodiscard]] std::string path() const { return directory_.path("mount"); }
  [[nodiscard]] const os::LoopDevice& loop() const { return loop_.get(); }
  // The root directory. Must be closed before the filesystem is unmounted.
  [[nodiscard]] os::UniqueFd Root() const {
    absl::StatusOr<os::UniqueFd> root = os::OpenDirectory(path());
    REQUIRE(root.ok());
    return *std::move(root);
  }

  void Mount(const std::string& type) {
    if (::mount(loop_->block.path.c_str(), path().c_str(), type.c_str(), 0, nullptr) != 0) {
      FAIL("cannot mount " << type << ": " << std::strerror(errno));
    }
  }
  void Unmount() {
    if (::umount2(path().c_str(), UMOUNT_NOFOLLOW) != 0 && errno != EINVAL) {
      WARN("left mounted: " << path() << ": " << std::strerror(errno));
    }
  }

 private:
  TempDirectory directory_;
  ImageFile image_;
  AttachedLoop loop_;
};

}  // namespace holdfast::test
