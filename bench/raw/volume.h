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
  RawVolume(const Options& options, int number);

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

 private:
  const Options& options_;
  std::string name_;
  std::string directory_;
  std::string staging_;
  std::string target_;
  int loop_ = -1;
};

}  // namespace bench
