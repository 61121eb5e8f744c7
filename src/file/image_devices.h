// SPDX-License-Identifier: Apache-2.0
// The loop devices of a file pool's images. Only devices with the pool's label are its own.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "os/loop_device.h"
#include "pool/volume_record.h"

namespace holdfast::file {

// Thread-safe; for one volume, callers serialise (KeyLock). `volumes_fd` is that of a VerifiedPool.
// Errors common to all: FAILED_PRECONDITION while the device is in use, or if another program has
// attached the image (two devices on one image are two caches that know nothing of each other).
class ImageDevices final {
 public:
  // `tag` is in the labels of the pool's devices (file/loop_label.h).
  ImageDevices(std::string tag, bool direct_io) : tag_(std::move(tag)), direct_io_(direct_io) {}

  // Attaches the image, or returns the device it is attached to, with the image's present size.
  [[nodiscard]] absl::StatusOr<os::BlockDevice> Map(int image_fd, const pool::VolumeRecord& record);

  // The volume's device, also one whose image was removed under it.
  [[nodiscard]] absl::StatusOr<std::optional<os::BlockDevice>> Find(int volumes_fd,
                                                                    const std::string& uuid);
  [[nodiscard]] absl::StatusOr<std::optional<os::BlockDevice>> FindOfImage(int image_fd,
                                                                           const std::string& uuid);

  // Lets the device, if there is one, show the image's present size.
  [[nodiscard]] absl::Status Refresh(int image_fd, const std::string& uuid);

  // Detaches the device. OK if there is none.
  [[nodiscard]] absl::Status Unmap(int volumes_fd, const std::string& uuid);
  // The same before the image is discarded: not while another program has attached it.
  [[nodiscard]] absl::Status UnmapForDeletion(int volumes_fd, const std::string& uuid);
  // The same for a device that nothing is known to want; every loop device is examined.
  [[nodiscard]] absl::Status UnmapAbandoned(int volumes_fd, const std::string& uuid);
  // Unmap by nothing but the labels: teardown must not depend on the pool's disk being in its
  // place.
  [[nodiscard]] absl::Status UnmapUnreachable(const std::string& uuid);
  // Unmap for a volume of a pool that is not open, only from what the kernel shows.
  [[nodiscard]] static absl::Status UnmapAbsent(const VolumeId& id);

  // OK if nothing uses the volume's device, or another one of its image.
  [[nodiscard]] absl::Status RequireUnused(int volumes_fd, const std::string& uuid);

  // How many devices that this process has seen go through the page cache, although the pool's
  // filesystem has direct I/O. Cheap: nothing asks a disk.
  [[nodiscard]] std::size_t CountWithoutDirectIo();

  // The volumes that have a device.
  [[nodiscard]] std::vector<std::string> List(int volumes_fd);

 private:
  [[nodiscard]] std::string LabelOf(const std::string& uuid) const;
  absl::StatusOr<os::LoopsOfImage> FindLoops(int image_fd, const std::string& uuid);
  absl::Status DetachDead(const std::string& uuid);
  absl::Status DetachUnused(const os::LoopDevice& loop, const std::string& uuid);
  // -1 if nothing is remembered.
  int LoopHint(const std::string& uuid);
  void RememberLoop(const std::string& uuid, int index);

  const std::string tag_;
  const bool direct_io_;
  Mutex mutex_;
  // Uuid -> loop index to look at first.
  std::map<std::string, int> loop_hints_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::file
