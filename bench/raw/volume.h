// SPDX-License-Identifier: Apache-2.0
// A volume's steps as the bare system calls that they cannot do without; docs/benchmarks.md says
// why each fsync is there.
#pragma once

#include <string>

#include "common/options.h"

namespace bench {

class RawVolume final {
 public:
  // Below `options.directory` the directories volumes, trash, staging and pods must exist.
  RawVolume(const Options& options, std::string name);
  RawVolume(const RawVolume&) = delete;
  RawVolume& operator=(const RawVolume&) = delete;
  ~RawVolume();

  void Create();
  void FirstStage();  // attach, mkfs, mount
  void Stage();       // attach, mount
  void Publish();
  void Stats() const;
  void GrowImage();       // to twice its size, and notifies the device
  void GrowFilesystem();  // over the device; xfs
  void Unpublish();
  void Unstage();
  void Delete();

  // volume_copies.cc
  void Fill();       // in its mounted filesystem, and syncs it
  void FillImage();  // without a device
  // These become a copy of a volume. A snapshot keeps the size.
  void CutFrom(const RawVolume& source);         // which is not in use
  void CutFromMounted(const RawVolume& source);  // while it is frozen
  void RestoreFrom(const RawVolume& snapshot);
  void CopyDataFrom(const RawVolume& source);  // where no blocks can be shared
  void FirstStageOfCopy();                     // attach, replay, new UUID, record, mount

 private:
  void MakeDirectoryOfCopy();
  const Options& options_;
  std::string name_;
  std::string directory_;
  std::string staging_;
  std::string target_;
  int loop_ = -1;
};

}  // namespace bench
