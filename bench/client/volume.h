// SPDX-License-Identifier: Apache-2.0
// A volume's steps as the calls that a CO makes, with the CO's part of the work (its directories)
// done beforehand.
#pragma once

#include <string>

#include "client/connection.h"
#include "common/options.h"

namespace bench {

void SetCapability(csi::v1::VolumeCapability& capability, const Options& options);

class DriverVolume final {
 public:
  // Below `options.directory` the directories staging and pods must exist.
  DriverVolume(const Options& options, std::string name);

  // Idempotent like CreateVolume: it also finds a volume that an earlier run has made.
  void Create(Connection& driver);
  void Stage(Connection& driver);
  void Publish(Connection& driver);
  void Stats(Connection& driver);
  void ExpandController(Connection& driver);  // to twice its size
  void ExpandNode(Connection& driver);
  void Unpublish(Connection& driver);
  void Unstage(Connection& driver);
  void Delete(Connection& driver);

  // volume_copies.cc
  void Fill(Connection& driver);  // through its staged filesystem, and syncs it
  void CreateSnapshot(Connection& driver);
  void CreateSnapshotOfWritten(Connection& driver);  // while others write to its staged filesystem
  void DeleteSnapshot(Connection& driver);
  // Becomes a volume that is restored from the snapshot of another one.
  void Restore(Connection& driver, const DriverVolume& from);

 private:
  const Options& options_;
  std::string name_;
  std::string staging_;
  std::string target_;
  std::string id_;
  std::string snapshot_id_;
};

}  // namespace bench
