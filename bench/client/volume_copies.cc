// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include "client/volume.h"
#include "common/workload.h"
#include "common/writers.h"

namespace bench {

using csi::v1::Controller;

void DriverVolume::Fill(Connection&) {
  WriteData(staging_ + "/data", options_.fill);
  const int root = ::open(staging_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0 || ::syncfs(root) != 0) Fail("sync " + staging_);
  ::close(root);
}

void DriverVolume::CreateSnapshot(Connection& driver) {
  csi::v1::CreateSnapshotRequest request;
  request.set_source_volume_id(id_);
  request.set_name(name_ + "-snapshot");
  snapshot_id_ = Call(driver.controller(), &Controller::Stub::CreateSnapshot, request)
                     .snapshot()
                     .snapshot_id();
}

void DriverVolume::CreateSnapshotOfWritten(Connection& driver) {
  const Writers writers(staging_, options_.writers);
  CreateSnapshot(driver);
}

void DriverVolume::DeleteSnapshot(Connection& driver) {
  csi::v1::DeleteSnapshotRequest request;
  request.set_snapshot_id(snapshot_id_);
  Call(driver.controller(), &Controller::Stub::DeleteSnapshot, request);
}

void DriverVolume::Restore(Connection& driver, const DriverVolume& from) {
  csi::v1::CreateVolumeRequest request;
  request.set_name(name_);
  request.mutable_capacity_range()->set_required_bytes(options_.size);
  SetCapability(*request.add_volume_capabilities(), options_);
  (*request.mutable_parameters())["provisioning"] = options_.thick ? "thick" : "thin";
  request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(from.snapshot_id_);
  id_ = Call(driver.controller(), &Controller::Stub::CreateVolume, request).volume().volume_id();
}

}  // namespace bench
