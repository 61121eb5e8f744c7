// SPDX-License-Identifier: Apache-2.0
// The node's end of the link: it dials the controller and carries out its commands.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "core/status.h"
#include "proto/link.grpc.pb.h"

namespace holdfast::link {

// What the link needs of this node. Called on the link's own threads, also at the same time.
struct NodeWork {
  std::function<v1::Register()> describe;  // all that Register says
  // Hands over all volumes, part by part (v1::Volumes), until one cannot be sent.
  std::function<void(const std::function<bool(const v1::Volumes&)>&)> name_volumes;
  std::function<v1::Pools()> measure;                       // the room in its pools now
  std::function<v1::Result(const v1::Command&)> carry_out;  // any number at once
  // Whether such a command uses or frees room, which is then measured.
  std::function<bool(const std::string& method)> changes_space;
  // How many pools' volumes `name_volumes` can name now. When it changes, the link
  // is renewed, which names them.
  std::function<std::size_t()> count_pools;
  // Whether there is a link from now on. A controller that turns the node away does so after it
  // has read the node's proof, so then there is one for a moment. Not called at the end.
  std::function<void(bool)> note_link;
};

// Thread-safe. Connects again, with growing, randomised pauses, whenever the stream breaks; a
// command that was under way is then finished, and its result lost: the CO repeats the call, and
// until the command has ended the node answers ABORTED.
//
// Opens a new stream every now and then while the old one is up, by a connection of its own: the
// controller's name is resolved again, and may have moved; certificate and token are shown as they
// are now. The old stream ends when its commands are answered. A controller that cannot be reached
// in this way is not a reason to give up the old stream.
class NodeLink final {
 public:
  // More commands at once are answered UNAVAILABLE: each holds a thread. What carries them out has
  // limits of its own for each pool, so this one is above what a pool that hangs can take.
  static constexpr int kMaxCommands = 512;
  // The longest time to a new stream, the shortest is half of it; well below
  // HubTimes::max_stream_age.
  static constexpr std::chrono::minutes kRenewal{10};

  NodeLink(std::string controller, std::shared_ptr<grpc::ChannelCredentials> credentials,
           NodeWork work, std::chrono::milliseconds renewal = kRenewal);
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;
  ~NodeLink();  // ends the streams and waits for the commands that run

 private:
  struct Wire;  // one stream and its connection
  using Clock = std::chrono::steady_clock;

  void Run();
  std::shared_ptr<Wire> Dial(grpc::Status& refusal);
  void Replace(const std::shared_ptr<Wire>& wire);
  void Hold(Clock::time_point until);
  bool IsLinked();
  bool IsEnding();
  void EndRetired();
  void PushPools(Wire& wire);

  void Serve(const std::shared_ptr<Wire>& wire);  // a wire's own thread
  bool NameVolumes(Wire& wire);                   // false if the stream is over
  grpc::Status ReadCommands(const std::shared_ptr<Wire>& wire);
  void StartCommand(const std::shared_ptr<Wire>& wire, const v1::Command& command);
  void Answer(Wire& wire, const v1::Command& command);

  const std::string controller_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  const NodeWork work_;
  const std::chrono::milliseconds renewal_;

  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // commands, also those of a stream that is over
  std::shared_ptr<Wire> current_ ABSL_GUARDED_BY(mutex_);  // null while there is no link
  // Were the current one; not joined yet.
  std::vector<std::shared_ptr<Wire>> retired_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace holdfast::link
