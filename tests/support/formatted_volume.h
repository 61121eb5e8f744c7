// SPDX-License-Identifier: Apache-2.0
// A filesystem of src/fs on a separate loop device.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>

#include "core/volume_id.h"
#include "fs/filesystem.h"
#include "os/process.h"
#include "support/loop_image.h"
#include "support/temp_directory.h"

namespace holdfast::test {

// A volume as the rest of the driver would handle it: an image, its device, a mount point.
class FormattedVolume final {
 public:
  FormattedVolume(const std::string& type, Bytes size, const os::LoopOptions& options = {})
      : filesystem_(fs::FindFilesystem(type)),
        image_(directory_.path("image"), size),
        loop_(image_.fd(), options),
        device_(loop_->block) {
    REQUIRE(::mkdir(path().c_str(), 0700) == 0);
  }
  FormattedVolume(const FormattedVolume&) = delete;
  FormattedVolume& operator=(const FormattedVolume&) = delete;
  ~FormattedVolume() { Unmount(); }

  void Make(fs::FormatOptions options = {.uuid = "", .extra = {}}) {
    options.uuid = uuid_;
    const absl::Status made = filesystem_->Make(device_, options);
    INFO(made);
    REQUIRE(made.ok());
  }
  void Mount() {
    INFO("mount of " << filesystem_->name() << " of " << device_.size << " bytes");
    REQUIRE(::mount(device_.path.c_str(), path().c_str(), std::string(filesystem_->name()).c_str(),
                    0, nullptr) == 0);
  }
  void Unmount() {
    if (::umount2(path().c_str(), UMOUNT_NOFOLLOW) != 0 && errno != EINVAL) {
      WARN("left mounted: " << path() << ": " << std::strerror(errno));
    }
  }
  // Makes image and device larger.
  void Enlarge(Bytes size) {
    REQUIRE(::ftruncate(image_.fd(), size) == 0);
    const auto seen = os::RefreshLoop(loop_.get());
    REQUIRE(seen.ok());
    REQUIRE(*seen == size);
    device_.size = size;
  }

  [[nodiscard]] absl::StatusOr<bool> PrepareMount() const {
    return filesystem_->PrepareMount(device_, undo_path());
  }
  [[nodiscard]] bool CanGrow() const {
    const auto can = filesystem_->CanGrow(device_, path());
    INFO(can.status());
    REQUIRE(can.ok());
    return *can;
  }
  // The size that the filesystem reports, including its metadata where it shows that.
  [[nodiscard]] Bytes Size() const {
    struct statvfs facts {};
    REQUIRE(::statvfs(path().c_str(), &facts) == 0);
    return static_cast<Bytes>(facts.f_blocks * facts.f_frsize);
  }
  [[nodiscard]] std::string ReadDevice(Bytes offset, std::size_t length) const {
    const os::UniqueFd fd(::open(device_.path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string bytes(length, '\0');
    REQUIRE(::pread(fd.get(), bytes.data(), length, offset) == static_cast<ssize_t>(length));
    return bytes;
  }
  void WriteDevice(Bytes offset, std::string_view bytes) const {
    const os::UniqueFd fd(::open(device_.path.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(fd.get(), bytes.data(), bytes.size(), offset) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // A change by debugfs(8), which keeps checksums right.
  void Debugfs(const std::string& request) const {
    const absl::Status status = os::RunCommandOrFail({"debugfs", "-w", "-R", request, device_.path},
                                                     std::chrono::minutes(1));
    INFO(status);
    REQUIRE(status.ok());
  }

  [[nodiscard]] std::string path() const { return directory_.path("mount"); }
  [[nodiscard]] std::string undo_path() const { return directory_.path("undo"); }
  [[nodiscard]] const std::string& uuid() const { return uuid_; }
  [[nodiscard]] const fs::Filesystem& filesystem() const { return *filesystem_; }
  [[nodiscard]] const os::BlockDevice& device() const { return device_; }
  [[nodiscard]] const ImageFile& image() const { return image_; }

 private:
  TempDirectory directory_;
  const fs::Filesystem* filesystem_;
  ImageFile image_;
  AttachedLoop loop_;
  os::BlockDevice device_;
  // Each its own: mkfs.btrfs looks for the UUID on every device, also on recently detached ones.
  std::string uuid_ = RandomUuid();
};

inline void WriteFile(const std::string& path, const std::string& content) {
  const os::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::write(fd.get(), content.data(), content.size()) ==
          static_cast<ssize_t>(content.size()));
  REQUIRE(::fsync(fd.get()) == 0);
}

inline std::string ReadFile(const std::string& path) {
  const os::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string content(1 << 20, '\0');
  const ssize_t length = ::read(fd.get(), content.data(), content.size());
  REQUIRE(length >= 0);
  content.resize(static_cast<std::size_t>(length));
  return content;
}

}  // namespace holdfast::test
