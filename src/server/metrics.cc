// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <map>
#include <utility>
#include <vector>

#include "core/version.h"
#include "server/grpc_log.h"

namespace holdfast::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<prometheus::ClientMetric::Label>;

// From a repeated publish to the mkfs of a large volume.
const prometheus::Histogram::BucketBoundaries kSeconds{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

MetricFamily Family(const char* name, const char* help, MetricType type) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

template <typename Number>
void Add(MetricFamily& family, Labels labels, Number value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = static_cast<double>(value);
  } else {
    metric.gauge.value = static_cast<double>(value);
  }
  family.metric.push_back(std::move(metric));
}

void AddPools(const pool::Pools& pools, std::vector<MetricFamily>& families) {
  MetricFamily ready = Family("holdfast_pool_ready", "1 if the pool can serve", MetricType::Gauge);
  MetricFamily volumes = Family("holdfast_pool_volumes", "volumes in the pool", MetricType::Gauge);
  MetricFamily total =
      Family("holdfast_pool_size_bytes", "size of the pool's storage", MetricType::Gauge);
  MetricFamily free =
      Family("holdfast_pool_free_bytes", "unused bytes of the pool's storage", MetricType::Gauge);
  MetricFamily provisioned = Family("holdfast_pool_provisioned_bytes",
                                    "sum of the capacities of its volumes", MetricType::Gauge);
  MetricFamily available = Family("holdfast_pool_available_bytes",
                                  "largest volume that can be created now", MetricType::Gauge);
  for (pool::Pool* const pool : pools.all()) {
    const std::string& name = pool->info().name;
    const auto usage = pools.questions().Put(*pool, [](pool::Pool& one) { return one.GetUsage(); });
    Add(ready, {{"pool", name}}, usage.ok() ? 1 : 0);
    if (!usage.ok()) continue;
    Add(volumes, {{"pool", name}}, usage->volumes);
    Add(total, {{"pool", name}}, usage->total);
    Add(free, {{"pool", name}}, usage->free);
    Add(provisioned, {{"pool", name}, {"provisioning", "thick"}}, usage->thick_provisioned);
    Add(provisioned, {{"pool", name}, {"provisioning", "thin"}}, usage->thin_provisioned);
    Add(available, {{"pool", name}, {"provisioning", "thick"}}, usage->thick_available);
    Add(available, {{"pool", name}, {"provisioning", "thin"}}, usage->thin_available);
  }
  for (MetricFamily* family : {&ready, &volumes, &total, &free, &provisioned, &available}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
}

void AddReconciler(const Reconciler& reconciler, std::vector<MetricFamily>& families) {
  MetricFamily rounds =
      Family("holdfast_reconcile_rounds_total", "rounds of the search for unfinished operations",
             MetricType::Counter);
  Add(rounds, {}, reconciler.rounds());
  MetricFamily repaired = Family("holdfast_reconcile_repaired_total",
                                 "leftovers that were ended, by kind", MetricType::Counter);
  for (const auto& [kind, count] : reconciler.Repaired()) {
    Add(repaired, {{"kind", std::string(ToString(kind))}}, count);
  }
  std::map<std::string_view, int> open;
  for (const Reconciler::OpenLeftover& leftover : reconciler.Open()) {
    ++open[ToString(leftover.leftover.kind)];
  }
  MetricFamily left =
      Family("holdfast_leftovers", "leftovers that wait for a person, by kind; see holdfast doctor",
             MetricType::Gauge);
  for (const auto& [kind, count] : open) Add(left, {{"kind", std::string(kind)}}, count);
  for (MetricFamily* family : {&rounds, &repaired, &left}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
}

void AddLink(const link::Hub& hub, std::vector<MetricFamily>& families) {
  MetricFamily nodes = Family("holdfast_link_nodes", "nodes that are connected", MetricType::Gauge);
  Add(nodes, {}, hub.CountNodes());
  MetricFamily missing =
      Family("holdfast_link_missing_nodes",
             "nodes that were connected not long ago and are not now", MetricType::Gauge);
  Add(missing, {}, hub.Missing().size());
  MetricFamily refused =
      Family("holdfast_link_refused_total", "peers that were turned away", MetricType::Counter);
  Add(refused, {{"code", "TLS"}}, FailedHandshakes());
  for (const auto& [code, count] : hub.Refusals()) {
    Add(refused, {{"code", std::string(CodeName(code))}}, count);
  }
  families.insert(families.end(), {std::move(nodes), std::move(missing), std::move(refused)});
}

}  // namespace

Metrics::Metrics(const pool::Pools& pools, const Reconciler& reconciler, const link::Hub* hub)
    : pools_(pools),
      reconciler_(reconciler),
      hub_(hub),
      calls_(prometheus::BuildCounter()
                 .Name("holdfast_calls_total")
                 .Help("CSI calls answered, by method and gRPC code")
                 .Register(registry_)),
      durations_(prometheus::BuildHistogram()
                     .Name("holdfast_call_duration_seconds")
                     .Help("time to answer, by method")
                     .Register(registry_)) {
  prometheus::BuildGauge()
      .Name("holdfast_build_info")
      .Help("1; the label is the version")
      .Register(registry_)
      .Add({{"version", kVersion}})
      .Set(1);
}

void Metrics::CountCall(std::string_view method, absl::StatusCode code,
                        std::chrono::steady_clock::duration duration) {
  const std::string name(method);
  calls_.Add({{"method", name}, {"code", std::string(CodeName(code))}}).Increment();
  durations_.Add({{"method", name}}, kSeconds)
      .Observe(std::chrono::duration<double>(duration).count());
}

std::string Metrics::Text() const {
  std::vector<MetricFamily> families = registry_.Collect();
  AddPools(pools_, families);
  AddReconciler(reconciler_, families);
  if (hub_ != nullptr) AddLink(*hub_, families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace holdfast::server
