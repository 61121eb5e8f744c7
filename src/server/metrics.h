// SPDX-License-Identifier: Apache-2.0
// The metrics for Prometheus: the process, calls, pools, snapshots, transfers, the link.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "controller/content_transfers.h"
#include "core/status.h"
#include "link/hub.h"
#include "link/transfer_relay.h"
#include "pool/pools.h"
#include "server/abnormal_volumes.h"
#include "server/reconciler.h"
#include "server/trimmer.h"

namespace holdfast::server {

// Thread-safe. Names and meanings are listed in docs/operations.md.
class Metrics final {
 public:
  // What is measured when it is asked for; all of it outlives the metrics.
  struct Sources {
    const pool::Pools& pools;
    const Reconciler& reconciler;
    const controller::ContentTransfers& transfers;
    AbnormalVolumes& abnormal;
    const Trimmer& trimmer;
    bool each_volume = false;  // with figures of each (VolumeFamilies)
    // Whether there is a link to a controller. Null: this process dials none.
    const std::atomic<bool>* linked = nullptr;
    // Null: this process has no controller's end of a link.
    const link::Hub* hub = nullptr;
    const link::TransferRelay* relay = nullptr;
  };
  explicit Metrics(const Sources& sources);

  void CountCall(std::string_view method, absl::StatusCode code,
                 std::chrono::steady_clock::duration duration);
  // As node::FreezeObserver.
  void CountFreeze(std::chrono::steady_clock::duration lasted, bool held);

  // All of it, measured now, in Prometheus' text format.
  [[nodiscard]] std::string Text() const;

 private:
  const Sources sources_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& calls_;
  prometheus::Family<prometheus::Histogram>& durations_;
  prometheus::Histogram& freezes_;
  prometheus::Counter& rescued_freezes_;
};

}  // namespace holdfast::server
