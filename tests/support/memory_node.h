// SPDX-License-Identifier: Apache-2.0
// A node of a controller: its own Controller service over a pool in memory, behind a stream to the
// hub. All messages are those of a real node; only the stream itself (NodeLink) is replaced by the
// test.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/link_commands.h"
#include "controller/rpc_table.h"
#include "controller/service.h"
#include "link/hub.h"
#include "support/await.h"
#include "support/in_process_server.h"
#include "support/link_peer.h"
#include "support/memory_pool.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::test {

// A Controller service with pools in memory.
struct MemoryService {
  MemoryService(const std::string& node, const std::vector<std::string>& pool_names, bool attach) {
    for (const std::string& name : pool_names) {
      REQUIRE_OK(pools.Add(std::make_unique<MemoryPool>(name, node)));
    }
    calls.SetReady();
    environment.emplace(controller::Service::Environment{kDriverName, node, attach, pools,
                                                         node_state, locks, calls});
    Restart();
  }
  // As after a kill, with what the pools have.
  void Restart() {
    service.reset();
    service.emplace(*environment);
  }
  TempDirectory state;
  pool::Pools pools;
  state::NodeState node_state = Value(state::NodeState::Open(state.fd()));
  KeyLock locks;
  rpc::CallRunner calls;
  std::optional<controller::Service::Environment> environment;
  std::optional<controller::Service> service;
};

// Used by the test's thread.
class MemoryNode final {
 public:
  using Answerer = LinkPeer::Answerer;

  // Connects, and reports that its pool "default" has `room`. Hub and server must outlive it.
  MemoryNode(link::Hub& hub, const InProcessServer& server, std::string name, Bytes room = kTiB)
      : hub_(hub), server_(server), name_(std::move(name)), room_(room) {
    Connect();
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  // Opens a stream, on which it names its present volumes. An older stream ends first.
  void Connect() {
    link::v1::Register description = controller::DescribeNode(kDriverName, name_, own_.pools);
    for (link::v1::Pool& pool : *description.mutable_pools()->mutable_pools()) SetRoom(pool);
    std::vector<link::v1::Volumes> parts;
    controller::NameVolumes(own_.pools, [&](const link::v1::Volumes& part) {
      parts.push_back(part);
      return true;
    });
    Leave();
    peer_ = std::make_unique<LinkPeer>(server_.NewChannel());
    const bool joined =
        peer_->Join(description, parts, [this](const auto& command) { return Answer(command); });
    if (!joined) FAIL(peer_->AwaitEnd());
    REQUIRE(hub_.WaitFor(name_, Patience()));
  }

  // The node's process is killed, and starts again.
  void Restart() {
    Leave();
    own_.Restart();
    Connect();
  }

  // When it returns, the hub has noticed that the node is gone.
  void Leave() {
    if (peer_ == nullptr) return;
    peer_.reset();
    Await([this] { return hub_.Nodes({name_}).empty(); });
  }

  // The stream breaks some time after this call. Answerers may call it.
  void Die() { peer_->Cut(); }

  // Answers commands from now on, instead of the service.
  void SetAnswerer(Answerer answerer) {
    const std::lock_guard lock(mutex_);
    answerer_ = std::move(answerer);
  }
  void Refuse(absl::StatusCode code, const std::string& message = "as the test wants it") {
    link::v1::Result result;
    result.set_code(static_cast<int>(code));
    result.set_message(message);
    SetAnswerer([result](const auto&) { return result; });
  }
  void Say(const google::protobuf::Message& message) {
    link::v1::Result result;
    result.set_response(message.SerializeAsString());
    SetAnswerer([result](const auto&) { return result; });
  }
  void KeepSilent() {
    SetAnswerer([](const auto&) { return std::nullopt; });
  }
  void AnswerAgain() { SetAnswerer(nullptr); }

  // Executes the command; returns the service's answer.
  link::v1::Result Carry(const link::v1::Command& command) {
    return controller::Execute(*own_.service, command);
  }

  // From now on it has that pool, too, which every node reaches.
  MemoryPool& Serve(const std::string& pool) {
    REQUIRE_OK(own_.pools.Add(std::make_unique<MemoryPool>(pool, "")));
    return Find(pool);
  }
  MemoryPool& Find(const std::string& pool) {
    return static_cast<MemoryPool&>(*Value(own_.pools.Find(pool)));
  }

  // Its pool.
  MemoryPool& pool() { return Find("default"); }
  KeyLock& locks() { return own_.locks; }

  // The commands that have arrived since the last query.
  std::vector<link::v1::Command> TakeCommands() {
    const std::lock_guard lock(mutex_);
    return std::exchange(heard_, {});
  }
  std::vector<std::string> TakeMethods() {
    std::vector<std::string> methods;
    for (const link::v1::Command& command : TakeCommands()) methods.push_back(command.method());
    return methods;
  }
  // Waits for a command that has not been taken yet.
  void AwaitCommand() {
    Await([this] {
      const std::lock_guard lock(mutex_);
      return !heard_.empty();
    });
  }

  [[nodiscard]] std::string IdOf(const std::string& volume) const {
    return Value(own_.pools.Find("default"))->IdForName(volume).ToString();
  }
  // Returns whether the node has such a volume.
  [[nodiscard]] bool Has(const std::string& volume) const {
    pool::Pool* const pool = Value(own_.pools.Find("default"));
    return pool->Get(pool->IdForName(volume)).ok();
  }
  // As if it had been created earlier.
  void Make(const std::string& volume) {
    VolumeSpec spec;
    spec.name = volume;
    spec.capacity.required = kMiB;
    spec.filesystem = "ext4";
    REQUIRE_OK(Value(own_.pools.Find("default"))->Create(spec));
  }
  void Remove(const std::string& volume) {
    pool::Pool* const pool = Value(own_.pools.Find("default"));
    REQUIRE_OK(pool->Delete(pool->IdForName(volume)));
  }
  [[nodiscard]] std::size_t CountSnapshots() const {
    return Value(Value(own_.pools.Find("default"))->ListSnapshots("", 0)).size();
  }
  // The same for a snapshot of the volume; returns its id.
  std::string Snap(const std::string& volume, const std::string& name) {
    pool::Pool* const pool = Value(own_.pools.Find("default"));
    VolumeSpec spec;
    spec.role = VolumeRole::kSnapshot;
    spec.name = name;
    spec.source = ContentSource{VolumeRole::kVolume, pool->IdForName(volume)};
    return ToSnapshotId(Value(pool->Create(spec)).id);
  }

 private:
  void SetRoom(link::v1::Pool& pool) const {
    for (csi::v1::GetCapacityResponse* const room : {pool.mutable_thick(), pool.mutable_thin()}) {
      room->set_available_capacity(room_);
      room->mutable_maximum_volume_size()->set_value(room_);
    }
  }

  std::optional<link::v1::Result> Answer(const link::v1::Command& command) {
    Answerer answerer;
    {
      const std::lock_guard lock(mutex_);
      heard_.push_back(command);
      answerer = answerer_;
    }
    return answerer ? answerer(command) : Carry(command);
  }

  link::Hub& hub_;
  const InProcessServer& server_;
  const std::string name_;
  const Bytes room_;
  MemoryService own_{name_, {"default"}, /*attach=*/false};
  std::mutex mutex_;
  Answerer answerer_;  // guarded by mutex_, like the next
  std::vector<link::v1::Command> heard_;
  std::unique_ptr<LinkPeer> peer_;  // the last: its thread uses the others
};

}  // namespace holdfast::test
