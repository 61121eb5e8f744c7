// SPDX-License-Identifier: Apache-2.0
#include "raw/loop.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>

#include "common/workload.h"
#include "raw/durable_file.h"

namespace bench {
namespace {

constexpr int kAttempts = 100;  // another thread may take the number that we were offered

// A loop number keeps the value that BLKROSET once set.
void MakeWritable(int device_fd) {
  const int read_only = 0;
  if (::ioctl(device_fd, BLKROSET, &read_only) != 0) Fail("BLKROSET");
}

}  // namespace

std::string LoopPath(int number) { return "/dev/loop" + std::to_string(number); }

int AttachLoop(const std::string& image_path, int sector_size) {
  const Descriptor image(::open(image_path.c_str(), O_RDWR | O_CLOEXEC), "open " + image_path);
  const Descriptor control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC), "open loop-control");
  loop_config config{};
  config.fd = static_cast<std::uint32_t>(image.get());
  config.block_size = static_cast<std::uint32_t>(sector_size);
  config.info.lo_flags = LO_FLAGS_DIRECT_IO;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) Fail("LOOP_CTL_GET_FREE");
    const int device = ::open(LoopPath(number).c_str(), O_RDWR | O_CLOEXEC);
    if (device < 0 && errno == ENXIO) continue;  // another process is just unbinding it
    const Descriptor closer(device, "open " + LoopPath(number));
    if (::ioctl(device, LOOP_CONFIGURE, &config) == 0) {
      MakeWritable(device);
      return number;
    }
    if (errno != EBUSY) Fail("LOOP_CONFIGURE");
  }
  throw std::runtime_error("every loop device that was offered was taken by others");
}

void RefreshLoop(int number) {
  const Descriptor device(::open(LoopPath(number).c_str(), O_RDWR | O_CLOEXEC), "open loop device");
  if (::ioctl(device.get(), LOOP_SET_CAPACITY) != 0) Fail("LOOP_SET_CAPACITY");
}

void DetachLoop(int number) {
  const Descriptor device(::open(LoopPath(number).c_str(), O_RDWR | O_CLOEXEC), "open loop device");
  if (::ioctl(device.get(), LOOP_CLR_FD) != 0) Fail("LOOP_CLR_FD");
}

}  // namespace bench
