// SPDX-License-Identifier: Apache-2.0
// holdfast.admin.v1.Admin: pools, volumes, snapshots, nodes and leftovers as people want to see
// them, of this instance, or, on a controller, of all its nodes; and the commands about the trash.
#pragma once

#include <functional>

#include "proto/admin.grpc.pb.h"
#include "rpc/call_runner.h"
#include "rpc/running_streams.h"
#include "server/cluster_inventory.h"
#include "server/cluster_trash.h"
#include "server/own_inventory.h"
#include "server/own_trash.h"

namespace holdfast::server {

// What an instance has itself, and, on a controller with nodes, the nodes; otherwise those are
// null.
struct AdminSources {
  const OwnInventory& own;
  const OwnTrash& trash;
  ClusterInventory* cluster = nullptr;
  const ClusterTrash* cluster_trash = nullptr;
};

// Thread-safe.
class AdminService final : public admin::v1::Admin::Service {
 public:
  // All outlive it.
  AdminService(const AdminSources& sources, rpc::CallRunner& calls)
      : own_(sources.own),
        trash_(sources.trash),
        cluster_(sources.cluster),
        cluster_trash_(sources.cluster_trash),
        calls_(calls) {}

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

  grpc::Status ListTrash(grpc::ServerContext* context, const admin::v1::ListRequest* request,
                         grpc::ServerWriter<admin::v1::ListTrashResponse>* writer) override;
  grpc::Status RestoreTrash(grpc::ServerContext* context, const admin::v1::TrashRequest* request,
                            admin::v1::RestoreTrashResponse* response) override;
  grpc::Status PurgeTrash(grpc::ServerContext* context, const admin::v1::TrashRequest* request,
                          admin::v1::PurgeTrashResponse* response) override;

  // Ends all lists, also one whose client does not read.
  void Stop() { streams_.Stop(); }

 private:
  template <typename Response>
  absl::Status ListOwn(const admin::v1::ListRequest& request,
                       const std::function<bool(const Response&)>& send) const;
  template <typename Response>
  grpc::Status List(grpc::ServerContext* context, const char* method,
                    const admin::v1::ListRequest& request, grpc::ServerWriter<Response>* writer);

  [[nodiscard]] bool IsOfNodes(const TrashId& id) const;

  const OwnInventory& own_;
  const OwnTrash& trash_;
  ClusterInventory* const cluster_;
  const ClusterTrash* const cluster_trash_;
  rpc::CallRunner& calls_;
  rpc::RunningStreams streams_;
};

}  // namespace holdfast::server
