// SPDX-License-Identifier: Apache-2.0
// What happens on connections, for the server that bounds what they cost.
#pragma once

#include <string>

namespace holdfast::link {

// Called on gRPC's threads: thread-safe, and nothing here waits. `peer` is gRPC's name of the
// connection, such as "ipv4:192.0.2.1:40000"; nothing happens to one that is unknown.
class PeerWatch {
 public:
  virtual ~PeerWatch() = default;
  // False when it must be refused, at no cost: StreamIsOver then follows at once.
  [[nodiscard]] virtual bool StreamStarts(const std::string& peer) = 0;
  virtual void StreamIsOver(const std::string& peer) = 0;
  // A whole message has come.
  virtual void MessageCame(const std::string& peer) = 0;
  // The peer is a node of the cluster.
  virtual void Proved(const std::string& peer) = 0;
};

}  // namespace holdfast::link
