// SPDX-License-Identifier: Apache-2.0
// The metrics for Prometheus: calls, pools, the link.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <string>
#include <string_view>

#include "core/status.h"
#include "link/hub.h"
#include "pool/pools.h"
#include "server/reconciler.h"

namespace holdfast::server {

// Thread-safe. Names and meanings are listed in docs/operations.md.
class Metrics final {
 public:
  // All outlive it. A null hub: this process has no controller's end of a link.
  Metrics(const pool::Pools& pools, const Reconciler& reconciler, const link::Hub* hub);

  void CountCall(std::string_view method, absl::StatusCode code,
                 std::chrono::steady_clock::duration duration);

  // All of it, measured now, in Prometheus' text format.
  [[nodiscard]] std::string Text() const;

 private:
  const pool::Pools& pools_;
  const Reconciler& reconciler_;
  const link::Hub* const hub_;
  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& calls_;
  prometheus::Family<prometheus::Histogram>& durations_;
};

}  // namespace holdfast::server
