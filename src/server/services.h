// SPDX-License-Identifier: Apache-2.0
// The services of one process, and the gRPC server that has them.
#pragma once

#include <grpcpp/server.h>

#include <memory>

#include "controller/group_service.h"
#include "controller/router.h"
#include "controller/service.h"
#include "controller/snapshot_metadata_service.h"
#include "controller/undecided_groups.h"
#include "core/config.h"
#include "identity/service.h"
#include "link/hub.h"
#include "link/node_identity.h"
#include "link/transfer_relay.h"
#include "node/service.h"
#include "server/acceptor.h"
#include "server/admin_service.h"
#include "server/cluster_inventory.h"
#include "server/cluster_trash.h"
#include "server/inventory_commands.h"
#include "server/own_inventory.h"
#include "server/own_trash.h"
#include "server/server_state.h"
#include "server/trash_commands.h"

namespace holdfast::server {

// Configuration and state outlive the services.
struct Services {
  Services(const Config& config, ServerState& state);
  identity::Service identity;
  controller::Service controller;
  controller::GroupService groups;
  controller::SnapshotMetadataService metadata;
  node::Service node;
  OwnInventory inventory;
  InventoryCommands inventory_commands;
  OwnTrash trash;
  TrashCommands trash_commands;
  AdminService admin;
};

// A controller whose volumes are on nodes, or in pools that need none.
struct LinkedController {
  LinkedController(const Config& config, ServerState& state, Services& own);
  const std::unique_ptr<link::NodeIdentity> identity;
  link::Hub hub;
  link::TransferRelay transfers;
  controller::Router router;
  controller::GroupService groups;
  controller::SnapshotMetadataService metadata;
  ClusterInventory inventory;
  ClusterTrash trash;
  AdminService admin;
  controller::UndecidedGroups undecided_groups;  // the last: its thread uses the rest
};

// A server, and the way by which it gets connections.
struct CallServer {
  std::unique_ptr<grpc::Server> server;
  Acceptor::Take connections;
};

// Builds a server with the services that the role has; it gets its connections from
// CallServer::connections only. A null server if gRPC cannot start one.
[[nodiscard]] CallServer StartServer(const Config& config, Services& services,
                                     LinkedController& linked);

}  // namespace holdfast::server
