// SPDX-License-Identifier: Apache-2.0
#include "server/services.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "controller/node_calls.h"
#include "os/capabilities.h"
#include "server/acceptor.h"
#include "server/kubelet_registration.h"
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
    if (kind->check_node != nullptr) needs.emplace_back(kind->check_node);
  }
  if (!config.kubelet_registration_dir.empty()) {
    needs.emplace_back([&config] { return MountsReachKubelet(config.kubelet_registration_dir); });
  }
  return needs;
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
                  state.volume_locks, state.calls, [&state] { state.reconciler.Wake(); },
                  config.copy_rate}),
      groups({config.driver_name, controller.groups(), state.volume_locks, state.calls}),
      metadata(state.calls,
               [this](const auto& question, auto) { return controller.FindRanges(question); }),
      node({config.driver_name, config.node_id, config.max_volumes, state.pools, state.node,
            state.volume_locks, state.calls, config.topology}),
      inventory(state.pools, state.node.stages, state.reconciler, config.node_id),
      inventory_commands(inventory, state.calls),
      trash(state.pools, state.volume_locks, config.driver_name),
      trash_commands(trash, state.calls),
      admin({inventory, trash}, state.calls) {}

LinkedController::LinkedController(const Config& config, ServerState& state, Services& own)
    : identity(MakeNodeIdentity(config)),
      hub(config.driver_name, *identity, {}, config.lost_pools),
      transfers(config.driver_name, *identity),
      router({config.driver_name, config.attach, hub, state.pools, own.controller,
              state.volume_locks, state.calls,
              [this](const link::TransferOrder& order) { return transfers.Issue(order); }}),
      groups({config.driver_name, own.controller.groups(), state.volume_locks, state.calls, &hub}),
      metadata(state.calls,
               [this](const auto& question, auto deadline) {
                 return router.FindRanges(question, deadline);
               }),
      inventory(hub),
      trash(hub, config.driver_name),
      admin({own.inventory, own.trash, &inventory, &trash}, state.calls),
      undecided_groups(hub, own.controller.groups(), state.volume_locks) {
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
  if (!config.link_listen.empty()) {
    builder.RegisterService(&linked.admin);
    builder.RegisterService(&linked.router);
    builder.RegisterService(&linked.groups);
    builder.RegisterService(&linked.metadata);
  } else {
    builder.RegisterService(&services.admin);
  }
  if (config.link_listen.empty() && config.role != Role::kNode) {
    builder.RegisterService(&services.controller);
    builder.RegisterService(&services.groups);
    builder.RegisterService(&services.metadata);
  }
  if (config.role != Role::kController) builder.RegisterService(&services.node);
  return {builder.BuildAndStart(), std::move(connections)};
}

}  // namespace holdfast::server
