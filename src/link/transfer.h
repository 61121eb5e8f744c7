// SPDX-License-Identifier: Apache-2.0
// A node's ends of a transfer: the bytes of a snapshot, sent to another node or taken from one.
//
// Each piece comes with the checksum that it had when it was read, and is checked before it is
// written: what damages it on the way, the controller's memory included, is noticed. TLS keeps
// others from changing it on purpose.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/content.h"
#include "core/mutex.h"
#include "core/status.h"
#include "proto/link.grpc.pb.h"

namespace holdfast::link {

// The transfers of a process, to end them with it. Thread-safe.
class TransferCalls final {
 public:
  // From here on every transfer ends at once.
  void CancelAll();

  void Add(grpc::ClientContext& context);
  void Remove(grpc::ClientContext& context);

 private:
  Mutex mutex_;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

// How a node reaches the controller.
struct TransferPeer {
  std::function<std::shared_ptr<grpc::Channel>()> channel;  // a new one (link/channel.h)
  std::function<v1::Register()> describe;                   // as in NodeWork
  std::shared_ptr<TransferCalls> calls;                     // never null
};

// Both work until the transfer is over, whatever takes it so long, so they belong on a thread of
// their own. UNAVAILABLE when a stream breaks or is ended, and a new ticket is needed;
// PERMISSION_DENIED when the ticket is void; else as reader and writer say.

// Sends what the target does not have yet. OK when the target has confirmed that it has everything.
[[nodiscard]] absl::Status SendContent(const TransferPeer& peer, const std::string& ticket,
                                       ContentReader& reader);

// Takes what the writer has not kept, and finishes it; errors as IncomingParts::Take, too.
[[nodiscard]] absl::Status TakeContent(const TransferPeer& peer, const std::string& ticket,
                                       ContentWriter& writer);

}  // namespace holdfast::link
