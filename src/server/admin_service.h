// SPDX-License-Identifier: Apache-2.0
// holdfast.admin.v1.Admin: pools, volumes, snapshots, nodes and leftovers as people want to see
// them, of this instance, or, on a controller, of all its nodes.
#pragma once

#include <functional>

#include "proto/admin.grpc.pb.h"
#include "rpc/call_runner.h"
#include "rpc/running_streams.h"
#include "server/cluster_inventory.h"
#include "server/own_inventory.h"

namespace holdfast::server {

// Thread-safe. Changes nothing.
class AdminService final : public admin::v1::Admin::Service {
 public:
  // All outlive it. `cluster` is null on anything but a controller with nodes.
  AdminService(const OwnInventory& own, ClusterInventory* cluster, rpc::CallRunner& calls)
      : own_(own), cluster_(cluster), calls_(calls) {}

  grpc::Status ListPools(grpc::ServerContext* context, const admin::v1::ListRequest* request,
                         grpc::ServerWriter<admin::v1::ListPoolsResponse>* writer) override;
  grpc::Status ListVolumes(grpc::ServerContext* context, const admin::v1::ListRequest* request,
                           grpc::ServerWriter<admin::v1::ListVolumesResponse>* writer) override;
  grpc::Status ListSnapshots(grpc::ServerContext* context, const admin::v1::ListRequest* request,
                             grpc::ServerWriter<admin::v1::ListSnapshotsResponse>* writer) override;
  grpc::Status ListNodes(grpc::ServerContext* context, const admin::v1::ListRequest* request,
                         grpc::ServerWriter<admin::v1::ListNodesResponse>* writer) override;
  grpc::Status ListLeftovers(grpc::ServerContext* context, const admin::v1::ListRequest* request,
                             grpc::ServerWriter<admin::v1::ListLeftoversResponse>* writer) override;

  // Ends all lists, also one whose client does not read.
  void Stop() { streams_.Stop(); }

 private:
  template <typename Response>
  absl::Status ListOwn(const admin::v1::ListRequest& request,
                       const std::function<bool(const Response&)>& send) const;
  template <typename Response>
  grpc::Status List(grpc::ServerContext* context, const char* method,
                    const admin::v1::ListRequest& request, grpc::ServerWriter<Response>* writer);

  const OwnInventory& own_;
  ClusterInventory* const cluster_;
  rpc::CallRunner& calls_;
  rpc::RunningStreams streams_;
};

}  // namespace holdfast::server
