// SPDX-License-Identifier: Apache-2.0
#include "server/services.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>

#include "controller/node_calls.h"
#include "os/capabilities.h"
#include "server/acceptor.h"
#include "server/pool_kinds.h"

namespace holdfast::server {
namespace {

// A CreateVolume may list every node of a large cluster as topology.
constexpr int kMaxMessageBytes = 64 << 20;
// In which the source of a transfer answers, or the target asks again.
constexpr std::chrono::seconds kSummonTime{20};

identity::Needs NeedsOf(const Config& config) {
  if (config.role == Role::kController) return {};
  identity::Needs needs = {os::RequireMountRights};
  for (const pool::PoolKind* const kind : KindsOf(config.pools)) {
    if (kind->check_node != nullptr) needs.push_back(kind->check_node);
  }
  return needs;
}

// A controller with nodes serves whatever pools they have.
bool MakesCopies(const Config& config) {
  return !config.link_listen.empty() ||
         std::ranges::any_of(KindsOf(config.pools), &pool::PoolKind::makes_copies);
}

std::unique_ptr<link::NodeIdentity> MakeNodeIdentity(const Config& config) {
  if (config.link_token_keys.empty()) return std::make_unique<link::CertificateIdentity>();
  return std::make_unique<link::TokenIdentity>(
      config.link_token_keys,
      link::TokenPolicy{config.link_token_audience, config.link_token_subject});
}

}  // namespace

Services::Services(const Config& config, ServerState& state)
    : identity(config.driver_name, state.pools, state.calls, NeedsOf(config)),
      controller({config.driver_name, config.node_id, config.attach, state.pools, state.node,
                  state.volume_locks, state.calls, MakesCopies(config),
                  [&state] { state.reconciler.Wake(); }, config.copy_rate}),
      node({config.driver_name, config.node_id, config.max_volumes, state.pools, state.node,
            state.volume_locks, state.calls, config.topology}),
      admin(state.pools, state.node.stages, state.reconciler, state.calls) {}

LinkedController::LinkedController(const Config& config, ServerState& state,
                                   controller::Service& own)
    : identity(MakeNodeIdentity(config)),
      hub(config.driver_name, *identity),
      transfers(config.driver_name, *identity),
      router({config.driver_name, config.attach, hub, state.pools, own, state.volume_locks,
              state.calls,
              [this](const link::TransferOrder& order) { return transfers.Issue(order); }}) {
  transfers.SetSummon([this](const link::TransferOrder& order, const std::string& ticket) {
    return controller::NodeCalls(hub).SendContent(order, ticket,
                                                  std::chrono::steady_clock::now() + kSummonTime);
  });
}

CallServer StartServer(const Config& config, Services& services, LinkedController& linked) {
  grpc::ServerBuilder builder;
  Acceptor::Take connections = GiveConnectionsTo(builder, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 16);
  builder.RegisterService(&services.identity);
  builder.RegisterService(&services.admin);
  if (!config.link_listen.empty()) {
    builder.RegisterService(&linked.router);
  } else if (config.role != Role::kNode) {
    builder.RegisterService(&services.controller);
  }
  if (config.role != Role::kController) builder.RegisterService(&services.node);
  return {builder.BuildAndStart(), std::move(connections)};
}

}  // namespace holdfast::server
