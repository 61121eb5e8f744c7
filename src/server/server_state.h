// SPDX-License-Identifier: Apache-2.0
// What the services of one process work on.
#pragma once

#include <atomic>
#include <utility>

#include "core/key_lock.h"
#include "node/quiesced_volume.h"
#include "pool/pools.h"
#include "rpc/call_runner.h"
#include "server/abnormal_volumes.h"
#include "server/pool_kinds.h"
#include "server/reconciler.h"
#include "server/trimmer.h"
#include "state/node_state.h"

namespace holdfast::server {

// Outlives the gRPC server.
struct ServerState {
  explicit ServerState(state::NodeState kept) : node(std::move(kept)) {}
  pool::Pools pools{DeviceOwnersOfAllKinds()};
  state::NodeState node;
  KeyLock volume_locks;
  rpc::CallRunner calls;
  node::FreezeObserver freeze_observer;  // set before the first call
  std::atomic<bool> linked{false};       // to a controller
  Reconciler reconciler{pools, node, volume_locks};
  AbnormalVolumes abnormal_volumes{pools};
  Trimmer trimmer{pools, node, volume_locks};
};

}  // namespace holdfast::server
