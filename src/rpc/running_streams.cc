// SPDX-License-Identifier: Apache-2.0
#include "rpc/running_streams.h"

namespace holdfast::rpc {

// grpc::ServerContext::TryCancel may be called from any thread.
RunningStreams::Entry::Entry(RunningStreams& streams, grpc::ServerContext* context)
    : streams_(streams), context_(context) {
  const MutexLock lock(streams_.mutex_);
  streams_.running_.insert(context_);
  if (streams_.stopped_) context_->TryCancel();
}

RunningStreams::Entry::~Entry() {
  const MutexLock lock(streams_.mutex_);
  streams_.running_.erase(context_);
}

void RunningStreams::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (grpc::ServerContext* const context : running_) context->TryCancel();
}

}  // namespace holdfast::rpc
