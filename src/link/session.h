// SPDX-License-Identifier: Apache-2.0
// The controller's end of one node's stream (gRPC's callback API: no thread per node).
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/status.h"
#include "proto/link.grpc.pb.h"

namespace holdfast::link {

// By the monotonic clock: a caller's deadline is converted when its call arrives.
using Deadline = std::chrono::steady_clock::time_point;

class Session;

// The owner of the sessions. Called on gRPC's threads: nothing here may wait.
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
  // A message has come whole; the stream's last bytes are sent.
  virtual void OnMessage(const Session& session) = 0;
  virtual void OnGone(const Session& session) = 0;
};

// Thread-safe. Lives until the stream has ended and no thread holds it.
class Session final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Starts reading; the session keeps itself alive until its stream is over.
  static std::shared_ptr<Session> Start(SessionOwner& owner, std::vector<std::string> peer_names,
                                        std::string peer);

  // Sends the command and waits for its result. Nothing if the stream was over before: the command
  // was not sent then. UNAVAILABLE when the stream breaks first: whether the command was carried
  // out is then unknown; DEADLINE_EXCEEDED likewise. UNAVAILABLE, too, and nothing is sent, when
  // the node does not read what it was sent before. Blocks: not for gRPC's callback threads.
  [[nodiscard]] std::optional<absl::StatusOr<v1::Result>> Call(const v1::Command& command,
                                                               Deadline deadline);

  // Ends the stream, once.
  void End(const absl::Status& why);
  // Ends it when no command waits for its result, or at `latest` by the next EndIfOverdue.
  void EndWhenIdle(const absl::Status& why, Deadline latest);
  void EndIfOverdue(Deadline now);

  // What the peer's certificate names: its common name and alternative names.
  [[nodiscard]] const std::vector<std::string>& peer_names() const { return peer_names_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }  // address, for people
  // Set by the owner in OnRegister; empty before.
  void set_node(std::string node);
  [[nodiscard]] std::string node() const;
  [[nodiscard]] std::chrono::steady_clock::time_point started_at() const { return started_at_; }
  [[nodiscard]] bool proved() const;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { End(Unavailable("the link was cut")); }
  void OnDone() override;

 private:
  enum class Stage { kNew, kRegistered, kNaming, kProved };
  struct Waiter {
    CondVar done;
    std::optional<v1::Result> result;
    bool lost = false;
  };

  Session(SessionOwner& owner, std::vector<std::string> peer_names, std::string peer)
      : owner_(owner), peer_names_(std::move(peer_names)), peer_(std::move(peer)) {}
  absl::Status Receive();
  absl::Status Handle(v1::FromNode& message, Stage stage);
  absl::Status HandleRegister(const v1::Register& message);
  absl::Status HandleProof(const v1::Proof& proof);
  absl::Status HandleVolumes(const v1::Volumes& part);
  void HandleResult(v1::Result result);
  void Send(const v1::ToNode& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndIfIdle();

  SessionOwner& owner_;
  const std::vector<std::string> peer_names_;
  const std::string peer_;
  const std::chrono::steady_clock::time_point started_at_ = std::chrono::steady_clock::now();
  std::string nonce_;
  grpc::ByteBuffer incoming_;  // gRPC's while a read is under way
  std::shared_ptr<Session> self_;

  mutable Mutex mutex_;
  std::string node_ ABSL_GUARDED_BY(mutex_);
  Stage stage_ ABSL_GUARDED_BY(mutex_) = Stage::kNew;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;    // no more reads or writes may be started
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // no more commands are taken
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_when_idle_ ABSL_GUARDED_BY(mutex_);
  Deadline latest_end_ ABSL_GUARDED_BY(mutex_) = Deadline::max();
  // The front is gRPC's while a write is under way.
  std::deque<grpc::ByteBuffer> outgoing_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::uint64_t, Waiter*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::link
