// SPDX-License-Identifier: Apache-2.0
// csi.v1.Node: protobuf in, stage/publish/expand, protobuf out.
#pragma once

#include <string>
#include <vector>

#include "core/key_lock.h"
#include "core/topology_segment.h"
#include "node/expander.h"
#include "node/publisher.h"
#include "node/stager.h"
#include "proto/csi.grpc.pb.h"
#include "rpc/call_runner.h"
#include "state/node_state.h"

namespace holdfast::node {

// Thread-safe.
class Service final : public csi::v1::Node::Service {
 public:
  struct Environment {
    std::string driver_name;
    std::string node_id;
    std::int64_t max_volumes;  // 0: no limit
    const pool::Pools& pools;
    const state::NodeState& state;
    KeyLock& volume_locks;
    rpc::CallRunner& calls;
    std::vector<TopologySegment> topology = {};  // of the node, beside the driver's own
  };
  explicit Service(const Environment& environment)
      : env_(environment),
        stager_(environment.pools, environment.state, path_locks_),
        publisher_(environment.pools, environment.state.stages, path_locks_),
        expander_(environment.pools, environment.state.stages) {}

  grpc::Status NodeStageVolume(grpc::ServerContext* context,
                               const csi::v1::NodeStageVolumeRequest* request,
                               csi::v1::NodeStageVolumeResponse* response) override;
  grpc::Status NodeUnstageVolume(grpc::ServerContext* context,
                                 const csi::v1::NodeUnstageVolumeRequest* request,
                                 csi::v1::NodeUnstageVolumeResponse* response) override;
  grpc::Status NodePublishVolume(grpc::ServerContext* context,
                                 const csi::v1::NodePublishVolumeRequest* request,
                                 csi::v1::NodePublishVolumeResponse* response) override;
  grpc::Status NodeUnpublishVolume(grpc::ServerContext* context,
                                   const csi::v1::NodeUnpublishVolumeRequest* request,
                                   csi::v1::NodeUnpublishVolumeResponse* response) override;
  grpc::Status NodeGetVolumeStats(grpc::ServerContext* context,
                                  const csi::v1::NodeGetVolumeStatsRequest* request,
                                  csi::v1::NodeGetVolumeStatsResponse* response) override;
  grpc::Status NodeExpandVolume(grpc::ServerContext* context,
                                const csi::v1::NodeExpandVolumeRequest* request,
                                csi::v1::NodeExpandVolumeResponse* response) override;
  grpc::Status NodeGetCapabilities(grpc::ServerContext* context,
                                   const csi::v1::NodeGetCapabilitiesRequest* request,
                                   csi::v1::NodeGetCapabilitiesResponse* response) override;
  grpc::Status NodeGetInfo(grpc::ServerContext* context, const csi::v1::NodeGetInfoRequest* request,
                           csi::v1::NodeGetInfoResponse* response) override;

 private:
  absl::Status Stage(const csi::v1::NodeStageVolumeRequest& request);
  absl::Status Unstage(const csi::v1::NodeUnstageVolumeRequest& request);
  absl::Status Publish(const csi::v1::NodePublishVolumeRequest& request);
  absl::Status Unpublish(const csi::v1::NodeUnpublishVolumeRequest& request);
  absl::Status Stats(const csi::v1::NodeGetVolumeStatsRequest& request,
                     csi::v1::NodeGetVolumeStatsResponse& response);
  absl::Status Expand(const csi::v1::NodeExpandVolumeRequest& request,
                      csi::v1::NodeExpandVolumeResponse& response);

  const Environment env_;
  KeyLock path_locks_;
  const Stager stager_;
  const Publisher publisher_;
  const Expander expander_;
};

}  // namespace holdfast::node
