// SPDX-License-Identifier: Apache-2.0
// holdfast.admin.v1.Admin: pools, volumes, snapshots and leftovers as people want to see them.
#pragma once

#include "pool/pools.h"
#include "proto/admin.grpc.pb.h"
#include "rpc/call_runner.h"
#include "server/reconciler.h"
#include "state/stage_store.h"

namespace holdfast::server {

// Thread-safe. Changes nothing.
class AdminService final : public admin::v1::Admin::Service {
 public:
  AdminService(const pool::Pools& pools, const state::StageStore& stages,
               const Reconciler& reconciler, rpc::CallRunner& calls)
      : pools_(pools), stages_(stages), reconciler_(reconciler), calls_(calls) {}

  grpc::Status ListPools(grpc::ServerContext* context, const admin::v1::ListPoolsRequest* request,
                         admin::v1::ListPoolsResponse* response) override;
  grpc::Status ListVolumes(grpc::ServerContext* context,
                           const admin::v1::ListVolumesRequest* request,
                           admin::v1::ListVolumesResponse* response) override;
  grpc::Status ListSnapshots(grpc::ServerContext* context,
                             const admin::v1::ListSnapshotsRequest* request,
                             admin::v1::ListSnapshotsResponse* response) override;
  grpc::Status ListLeftovers(grpc::ServerContext* context,
                             const admin::v1::ListLeftoversRequest* request,
                             admin::v1::ListLeftoversResponse* response) override;

 private:
  const pool::Pools& pools_;
  const state::StageStore& stages_;
  const Reconciler& reconciler_;
  rpc::CallRunner& calls_;
};

}  // namespace holdfast::server
