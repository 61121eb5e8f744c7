// SPDX-License-Identifier: Apache-2.0
#include "server/dial_controller.h"

#include <string>

#include "controller/link_commands.h"
#include "core/text_file.h"
#include "link/channel.h"
#include "link/credentials.h"
#include "link/transfer.h"

namespace holdfast::server {
namespace {

// Read again for every connection: the kubelet replaces the file before the token expires.
std::string ReadToken(const std::string& path) {
  if (path.empty()) return {};
  auto token = ReadTextFile(path);
  if (token.ok()) return *std::move(token);
  LogWarning("the link's token cannot be read: {}", MessageOf(token.status()));
  return {};
}

link::v1::Register Describe(const Config& config, const ServerState& state) {
  link::v1::Register self =
      controller::DescribeNode(config.driver_name, config.node_id, state.pools);
  self.set_token(ReadToken(config.link_token));
  return self;
}

controller::ContentLink LinkOf(const Config& config, const ServerState& state) {
  const link::TransferPeer peer{
      .channel =
          [address = config.link_controller, credentials = link::ChannelTls({config.link_tls})] {
            return link::NewChannel(address, credentials);
          },
      .describe = [&config, &state] { return Describe(config, state); },
      .calls = std::make_shared<link::TransferCalls>()};
  return {.send = [peer](const std::string& ticket,
                         ContentReader& reader) { return SendContent(peer, ticket, reader); },
          .take = [peer](const std::string& ticket,
                         ContentWriter& writer) { return TakeContent(peer, ticket, writer); },
          .cancel = [peer] { peer.calls->CancelAll(); }};
}

}  // namespace

std::unique_ptr<link::NodeLink> DialController(const Config& config, ServerState& state,
                                               Services& services) {
  services.controller.SetLink(LinkOf(config, state));
  return std::make_unique<link::NodeLink>(
      config.link_controller, link::ChannelTls({config.link_tls}),
      link::NodeWork{
          .describe = [&] { return Describe(config, state); },
          .name_volumes = [&](const auto& send) { controller::NameVolumes(state.pools, send); },
          .measure = [&] { return controller::MeasurePools(state.pools); },
          .carry_out =
              [&](const link::v1::Command& command) {
                if (auto listed = services.inventory_commands.CarryOut(command)) {
                  return *std::move(listed);
                }
                if (auto done = services.trash_commands.CarryOut(command)) return *std::move(done);
                return controller::Execute(services.controller, command);
              },
          .changes_space =
              [](const std::string& method) {
                return controller::ChangesSpace(method) || TrashCommands::ChangesSpace(method);
              },
          .count_pools = [&] { return controller::CountListable(state.pools); },
          .note_link = [&](bool linked) { state.linked = linked; },
      });
}

}  // namespace holdfast::server
