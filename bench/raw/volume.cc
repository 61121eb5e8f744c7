// SPDX-License-Identifier: Apache-2.0
#include "raw/volume.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "common/workload.h"
#include "raw/durable_file.h"
#include "raw/filesystem.h"
#include "raw/loop.h"

namespace bench {
namespace {

void MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) Fail("mkdir " + path);
}

void RemoveDirectory(const std::string& path) {
  if (::rmdir(path.c_str()) != 0) Fail("rmdir " + path);
}

void RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0) Fail("unlink " + path);
}

}  // namespace

RawVolume::RawVolume(const Options& options, std::string name)
    : options_(options),
      name_(std::move(name)),
      directory_(options.directory + "/volumes/" + name_),
      staging_(options.directory + "/staging/" + name_),
      target_(options.directory + "/pods/" + name_) {
  MakeDirectory(staging_);
}

RawVolume::~RawVolume() { ::rmdir(staging_.c_str()); }

void RawVolume::Create() {
  MakeDirectory(directory_);
  const Descriptor directory = OpenDirectory(directory_);
  WriteRecord(directory.get());
  MakeImage(directory.get(), options_.size, options_.thick);
  WriteRecord(directory.get());
  Sync(OpenDirectory(options_.directory + "/volumes").get());
}

void RawVolume::FirstStage() {
  loop_ = AttachLoop(directory_ + "/image", options_.sector_size);
  if (options_.guarded) {
    ReadEnds(LoopPath(loop_), options_.size);
    WriteRecord(OpenDirectory(directory_).get());
  }
  Format(options_.filesystem, LoopPath(loop_), options_.thick, options_.guarded);
  if (options_.guarded) WriteRecord(OpenDirectory(directory_).get());
  Mount(LoopPath(loop_), options_.filesystem, staging_);
}

void RawVolume::Stage() {
  loop_ = AttachLoop(directory_ + "/image", options_.sector_size);
  Mount(LoopPath(loop_), options_.filesystem, staging_);
}

void RawVolume::Publish() {
  MakeDirectory(target_);
  BindMount(staging_, target_);
}

void RawVolume::Stats() const { Measure(target_); }

void RawVolume::GrowImage() {
  const Descriptor directory = OpenDirectory(directory_);
  const Descriptor image(::openat(directory.get(), "image", O_RDWR | O_CLOEXEC), "open the image");
  WriteRecord(directory.get());
  ExtendImage(image.get(), 2 * options_.size, options_.thick);
  WriteRecord(directory.get());
  RefreshLoop(loop_);
}

void RawVolume::GrowFilesystem() { GrowXfs(staging_, 2 * options_.size); }

void RawVolume::Unpublish() {
  Unmount(target_);
  RemoveDirectory(target_);
}

void RawVolume::Unstage() {
  Unmount(staging_);
  DetachLoop(loop_);
}

void RawVolume::Delete() {
  const std::string trash = options_.directory + "/trash/" + name_;
  WriteRecord(OpenDirectory(directory_).get());
  if (::rename(directory_.c_str(), trash.c_str()) != 0) Fail("move a volume to the trash");
  Sync(OpenDirectory(options_.directory + "/trash").get());
  Sync(OpenDirectory(options_.directory + "/volumes").get());
  RemoveFile(trash + "/image");
  RemoveFile(trash + "/record.json");
  RemoveDirectory(trash);
}

}  // namespace bench
