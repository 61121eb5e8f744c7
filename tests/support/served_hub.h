// SPDX-License-Identifier: Apache-2.0
// A hub that is served within the process, and nodes that hold streams to it.
#pragma once

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "link/hub.h"
#include "support/await.h"
#include "support/in_process_server.h"
#include "support/link_peer.h"
#include "support/outcome.h"

namespace holdfast::test {

inline LinkPeer::Answerer Silent() {
  return [](const link::v1::Command&) { return std::nullopt; };
}

inline LinkPeer::Answerer Saying(const std::string& text) {
  return [text](const link::v1::Command&) {
    link::v1::Result result;
    result.set_message(text);
    return result;
  };
}

// A controller's end of the link, without a router.
struct ServedHub {
  explicit ServedHub(const link::HubTimes& times = {.settle = std::chrono::milliseconds(0)},
                     std::vector<LostPool> lost = {})
      : hub(kDriverName, belief, times, std::move(lost)), server({&hub.service()}) {}

  std::unique_ptr<LinkPeer> Dial() const { return std::make_unique<LinkPeer>(server.NewChannel()); }
  std::unique_ptr<LinkPeer> Connect(const link::v1::Register& description,
                                    const std::vector<std::string>& volumes = {},
                                    LinkPeer::Answerer answerer = Saying("fine")) {
    auto peer = Dial();
    const bool joined = peer->Join(description, {VolumesOf(volumes)}, std::move(answerer));
    if (!joined) FAIL(peer->AwaitEnd());
    REQUIRE(hub.WaitFor(description.node(), Patience()));
    return peer;
  }
  std::unique_ptr<LinkPeer> Connect(const std::string& node) { return Connect(RegisterOf(node)); }

  // The text of the node's answer.
  absl::StatusOr<std::string> Call(const std::string& node, const std::string& request = "",
                                   link::Deadline deadline = Patience()) {
    link::v1::Command command;
    command.set_method("Any");
    command.set_request(request);
    ASSIGN_OR_RETURN(const link::v1::Result result, hub.Call(node, command, deadline));
    return result.message();
  }
  std::future<absl::StatusOr<std::string>> StartCall(const std::string& node,
                                                     const std::string& request = "") {
    return std::async(std::launch::async, [=, this] { return Call(node, request); });
  }
  absl::Status Refusal(const link::v1::Register& description) const {
    auto peer = Dial();
    REQUIRE(peer->Register(description));
    return peer->AwaitEnd();
  }
  [[nodiscard]] std::vector<std::string> Connected() const {
    std::vector<std::string> names;
    for (const link::NodeView& node : hub.Nodes()) names.push_back(node.name);
    return names;
  }

  Belief belief;
  link::Hub hub;
  InProcessServer server;  // the last: its calls use the hub
};

}  // namespace holdfast::test
