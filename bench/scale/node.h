// SPDX-License-Identifier: Apache-2.0
// One simulated node: it keeps a stream to the controller as src/link/node_link does, but on gRPC's
// callback threads, so that thousands fit into a process.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "scale/authority.h"
#include "scale/token_issuer.h"
#include "scale/volumes.h"

namespace bench {

class NodeStream;

// Counts events on all nodes together. Thread-safe.
class Events final {
 public:
  void Dialled() { ++dials_; }
  void Linked() { ++links_; }
  void Commanded() { ++commands_; }
  void Pushed() { ++pushes_; }
  void Ended(const grpc::Status& status);
  [[nodiscard]] std::string ToJson() const;

 private:
  std::atomic<int> dials_{0};
  std::atomic<int> links_{0};  // streams whose registration was answered
  std::atomic<int> commands_{0};
  std::atomic<int> pushes_{0};
  mutable std::mutex mutex_;
  std::map<std::string, int> ends_;  // streams by the reason of their end; guarded by mutex_
};

// Must outlive gRPC's use of it: nodes are never destroyed before the process ends.
class Node final {
 public:
  Node(std::string controller, std::string name, int volumes, Authority& authority,
       const TokenIssuer& issuer, Events& events);

  void Dial();
  // The free space has changed and, if there is a link, the controller hears of it.
  void PushPools();

 private:
  friend class NodeStream;

  void Ended(const grpc::Status& status, bool was_up);
  std::chrono::milliseconds NextPause(bool was_up);

  const std::string controller_;
  const std::shared_ptr<grpc::ChannelCredentials> credentials_;
  const std::string token_;
  Volumes volumes_;
  Events& events_;
  std::chrono::milliseconds pause_;  // used only between two streams
  // A new one for each pause: the last one's callback may still run when the next is set.
  std::unique_ptr<grpc::Alarm> timer_;
  std::mutex mutex_;
  std::shared_ptr<NodeStream> stream_;  // guarded by mutex_
};

}  // namespace bench
