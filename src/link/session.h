// SPDX-License-Identifier: Apache-2.0
// The controller's end of one node's stream (gRPC's callback API: no thread per node).
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "proto/link.grpc.pb.h"

namespace holdfast::link {

using Deadline = std::chrono::system_clock::time_point;

class Session;

// Who keeps the sessions. Called on gRPC's threads: nothing here may wait.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;
  // A node names itself. Anything but OK ends the stream with that status.
  virtual absl::Status OnRegister(Session& session, const v1::Register& message) = 0;
  // It names some of its volumes; as OnRegister.
  virtual absl::Status OnVolumes(Session& session, const v1::Volumes& part) = 0;
  // It has answered the challenge and named all its volumes: from here on it takes commands.
  virtual void OnProved(const std::shared_ptr<Session>& session) = 0;
  // Like OnRegister, anything but OK ends the stream.
  virtual absl::Status OnPools(Session& session, const v1::Pools& pools) = 0;
  virtual void OnEnd(Session& session, const absl::Status& why) = 0;
};

// Thread-safe. Lives until the stream is over and nobody holds it.
class Session final : public grpc::ServerBidiReactor<v1::FromNode, v1::ToNode> {
 public:
  // Starts reading; the session keeps itself alive until its stream is over.
  static std::shared_ptr<Session> Start(SessionOwner& owner, std::vector<std::string> peer_names,
                                        std::string peer);

  // Sends the command and waits for its result. UNAVAILABLE when the stream breaks first: whether
  // the command was carried out is then unknown; DEADLINE_EXCEEDED likewise. Blocks: not for gRPC's
  // callback threads.
  [[nodiscard]] absl::StatusOr<v1::Result> Call(v1::Command command, Deadline deadline);

  // Ends the stream, once.
  void End(const absl::Status& why);

  // What the peer's certificate names: its common name and alternative names.
  [[nodiscard]] const std::vector<std::string>& peer_names() const { return peer_names_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }  // address, for people
  // Set by the owner in OnRegister, before any other thread sees the session.
  void set_node(std::string node) { node_ = std::move(node); }
  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] std::chrono::steady_clock::time_point started_at() const { return started_at_; }
  [[nodiscard]] bool proved() const;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { End(Unavailable("the link was cut")); }
  void OnDone() override;

 private:
  enum class Stage { kNew, kRegistered, kNaming, kProved };
  struct Waiter {
    std::condition_variable done;
    std::optional<v1::Result> result;
    bool lost = false;
  };

  Session(SessionOwner& owner, std::vector<std::string> peer_names, std::string peer)
      : owner_(owner), peer_names_(std::move(peer_names)), peer_(std::move(peer)) {}
  absl::Status Handle(const v1::FromNode& message);
  absl::Status HandleRegister(const v1::Register& message);
  absl::Status HandleProof(const v1::Proof& proof);
  absl::Status HandleVolumes(const v1::Volumes& part);
  void HandleResult(v1::Result result);
  void WriteNext();  // with mutex_ held

  SessionOwner& owner_;
  const std::vector<std::string> peer_names_;
  const std::string peer_;
  const std::chrono::steady_clock::time_point started_at_ = std::chrono::steady_clock::now();
  std::string node_;
  std::string nonce_;
  v1::FromNode incoming_;  // gRPC's while a read is under way
  std::shared_ptr<Session> self_;

  mutable std::mutex mutex_;
  Stage stage_ = Stage::kNew;  // guarded by mutex_, like all below
  bool ended_ = false;         // no more reads or writes may be started
  bool writing_ = false;
  std::deque<v1::ToNode> outgoing_;  // the front is gRPC's while a write is under way
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Waiter*> waiting_;
};

}  // namespace holdfast::link
