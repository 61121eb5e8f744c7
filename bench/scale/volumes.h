// SPDX-License-Identifier: Apache-2.0
// The volumes of one simulated node, in memory, and its answers to the controller's commands.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "proto/admin.pb.h"
#include "proto/link.pb.h"

namespace bench {

// Thread-safe.
class Volumes final {
 public:
  Volumes(std::string node, int count);

  [[nodiscard]] holdfast::link::v1::Register Describe() const;
  // All volumes, in the form in which the link reports them.
  [[nodiscard]] std::vector<holdfast::link::v1::Volumes> Name() const;
  [[nodiscard]] holdfast::link::v1::Pools Measure() const;
  [[nodiscard]] holdfast::link::v1::Result Execute(const holdfast::link::v1::Command& command);
  // Other programs write to the pool's filesystem: each call changes what is available.
  void WriteBeside();

 private:
  struct Volume {
    std::string name;
    std::int64_t bytes = 0;
  };

  std::string IdForName(const std::string& name) const;
  void Fill(const std::string& id, const Volume& volume, csi::v1::Volume& described) const;
  // With mutex_ held, like the rest.
  holdfast::link::v1::Result Dispatch(const holdfast::link::v1::Command& command);
  holdfast::link::v1::Pools MeasureLocked() const;
  // Each returns a gRPC status code.
  int Create(const csi::v1::CreateVolumeRequest& request, csi::v1::CreateVolumeResponse& response);
  int Delete(const csi::v1::DeleteVolumeRequest& request, csi::v1::DeleteVolumeResponse& response);
  int Expand(const csi::v1::ControllerExpandVolumeRequest& request,
             csi::v1::ControllerExpandVolumeResponse& response);
  int Get(const csi::v1::ControllerGetVolumeRequest& request,
          csi::v1::ControllerGetVolumeResponse& response);
  int Validate(const csi::v1::ValidateVolumeCapabilitiesRequest& request,
               csi::v1::ValidateVolumeCapabilitiesResponse& response);
  int List(const csi::v1::ListVolumesRequest& request, csi::v1::ListVolumesResponse& response);
  int Show(const holdfast::admin::v1::ListRequest& request,
           holdfast::admin::v1::ListVolumesResponse& response);
  int ShowPools(const holdfast::admin::v1::ListRequest& request,
                holdfast::admin::v1::ListPoolsResponse& response);
  int ShowSnapshots(const holdfast::admin::v1::ListRequest& request,
                    holdfast::admin::v1::ListSnapshotsResponse& response);
  int ShowLeftovers(const holdfast::admin::v1::ListRequest& request,
                    holdfast::admin::v1::ListLeftoversResponse& response);
  int ShowTrash(const holdfast::admin::v1::ListRequest& request,
                holdfast::admin::v1::ListTrashResponse& response);

  const std::string node_;
  const std::string pool_id_;
  mutable std::mutex mutex_;
  std::map<std::string, Volume> volumes_;  // by id; guarded by mutex_, like all below
  std::int64_t used_ = 0;
  std::int64_t beside_ = 0;
};

}  // namespace bench
