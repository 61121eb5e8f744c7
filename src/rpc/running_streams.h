// SPDX-License-Identifier: Apache-2.0
// The streams of answers that a service is sending, so that a stop need not wait for a client that
// does not read.
#pragma once

#include <grpcpp/server_context.h>

#include <set>

#include "core/mutex.h"

namespace holdfast::rpc {

// Thread-safe.
class RunningStreams final {
 public:
  // One of them, until the end of the scope.
  class [[nodiscard]] Entry final {
   public:
    Entry(RunningStreams& streams, grpc::ServerContext* context);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    RunningStreams& streams_;
    grpc::ServerContext* const context_;
  };

  // Cancels all of them, and every one that begins later.
  void Stop();

 private:
  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ServerContext*> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::rpc
