// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "common/workload.h"
#include "common/writers.h"
#include "raw/durable_file.h"
#include "raw/filesystem.h"
#include "raw/loop.h"
#include "raw/volume.h"

namespace bench {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 20;
constexpr std::size_t kAlignment = 4096;  // of direct I/O

Descriptor OpenImage(const std::string& directory, int flags) {
  return Descriptor(::open((directory + "/image").c_str(), flags | O_CLOEXEC, 0600),
                    "open the image in " + directory);
}

void Clone(int source_fd, int copy_fd) {
  if (::ioctl(copy_fd, FICLONE, source_fd) != 0) Fail("FICLONE");
}

void CopyPiece(int source_fd, int copy_fd, char* memory, std::int64_t size, std::int64_t at) {
  const auto bytes = static_cast<std::size_t>(size);
  if (::pread(source_fd, memory, bytes, at) != size) Fail("read an image");
  if (::pwrite(copy_fd, memory, bytes, at) != size) Fail("write an image");
}

void CopyAllData(int source_fd, int copy_fd, std::int64_t size) {
  const std::unique_ptr<char, void (*)(void*)> memory(
      static_cast<char*>(std::aligned_alloc(kAlignment, kPiece)), std::free);
  for (off_t at = ::lseek(source_fd, 0, SEEK_DATA); at >= 0 && at < size;
       at = ::lseek(source_fd, at, SEEK_DATA)) {
    const off_t hole = ::lseek(source_fd, at, SEEK_HOLE);
    for (; at < hole; at += kPiece) {
      CopyPiece(source_fd, copy_fd, memory.get(), std::min<std::int64_t>(kPiece, hole - at), at);
    }
    at = hole;
  }
}

}  // namespace

void RawVolume::Fill() {
  WriteData(staging_ + "/data", options_.fill);
  ::syncfs(OpenDirectory(staging_).get());
}

void RawVolume::FillImage() { WriteData(directory_ + "/image", options_.fill); }

void RawVolume::MakeDirectoryOfCopy() {
  if (::mkdir(directory_.c_str(), 0700) != 0) Fail("mkdir " + directory_);
  WriteRecord(OpenDirectory(directory_).get());
}

void RawVolume::CutFrom(const RawVolume& source) {
  MakeDirectoryOfCopy();
  {
    const Descriptor from = OpenImage(source.directory_, O_RDONLY);
    const Descriptor image = OpenImage(directory_, O_RDWR | O_CREAT | O_EXCL);
    Clone(from.get(), image.get());
    Sync(image.get());
  }
  WriteRecord(OpenDirectory(directory_).get());
  Sync(OpenDirectory(options_.directory + "/volumes").get());
}

void RawVolume::CutFromMounted(const RawVolume& source) {
  MakeDirectoryOfCopy();
  {
    const Descriptor root = OpenDirectory(source.staging_);
    const Descriptor from = OpenImage(source.directory_, O_RDONLY);
    const Descriptor image = OpenImage(directory_, O_RDWR | O_CREAT | O_EXCL);
    if (::syncfs(root.get()) != 0) Fail("syncfs");
    if (::ioctl(root.get(), FIFREEZE, 0) != 0) Fail("FIFREEZE");
    Clone(from.get(), image.get());
    if (::ioctl(root.get(), FITHAW, 0) != 0) Fail("FITHAW");
    Sync(image.get());
  }
  WriteRecord(OpenDirectory(directory_).get());
  Sync(OpenDirectory(options_.directory + "/volumes").get());
}

void RawVolume::RestoreFrom(const RawVolume& snapshot) {
  MakeDirectoryOfCopy();
  {
    const Descriptor from = OpenImage(snapshot.directory_, O_RDONLY);
    const Descriptor image = OpenImage(directory_, O_RDWR | O_CREAT | O_EXCL);
    Clone(from.get(), image.get());
    if (::ftruncate(image.get(), options_.size) != 0) Fail("size an image");
    Sync(image.get());
  }
  WriteRecord(OpenDirectory(directory_).get());
  Sync(OpenDirectory(options_.directory + "/volumes").get());
}

void RawVolume::CopyDataFrom(const RawVolume& source) {
  MakeDirectoryOfCopy();
  {
    const Descriptor from = OpenImage(source.directory_, O_RDONLY | O_DIRECT);
    const Descriptor image = OpenImage(directory_, O_RDWR | O_CREAT | O_EXCL | O_DIRECT);
    ExtendImage(image.get(), options_.size, options_.thick);
    CopyAllData(from.get(), image.get(), options_.size);
    Sync(image.get());
  }
  WriteRecord(OpenDirectory(directory_).get());
  Sync(OpenDirectory(options_.directory + "/volumes").get());
}

// Of a source that was not in use: only the log of xfs is never empty.
void RawVolume::FirstStageOfCopy() {
  loop_ = AttachLoop(directory_ + "/image", options_.sector_size);
  if (options_.filesystem == "xfs") {
    Mount(LoopPath(loop_), options_.filesystem, staging_, "nouuid");
    Unmount(staging_);
  }
  ChangeUuid(options_.filesystem, LoopPath(loop_));
  Sync(OpenImage(directory_, O_RDONLY).get());  // before a record says that it has been done
  WriteRecord(OpenDirectory(directory_).get());
  Mount(LoopPath(loop_), options_.filesystem, staging_);
}

}  // namespace bench
