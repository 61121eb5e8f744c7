// SPDX-License-Identifier: Apache-2.0
#include "server/volume_metrics.h"

#include <string>

#include "server/metric_family.h"

namespace holdfast::server {

using prometheus::MetricType;

namespace {

// `namespace` alone is a label of the target, which Prometheus sets.
std::vector<prometheus::ClientMetric::Label> LabelsOf(const Volume& volume) {
  const RequestingObjects claim = volume.requested_by.value_or(RequestingObjects());
  return {{"pool", volume.id.pool},
          {"volume_id", volume.id.ToString()},
          {"claim_namespace", claim.name_space},
          {"claim", claim.name}};
}

}  // namespace

VolumeFamilies::VolumeFamilies()
    : capacity_(Family("holdfast_volume_capacity_bytes", "size of the volume", MetricType::Gauge)),
      allocated_(Family("holdfast_volume_allocated_bytes",
                        "storage that the volume alone has, as it was counted last",
                        MetricType::Gauge)) {}

void VolumeFamilies::Add(const pool::Questions& questions, pool::Pool& pool) {
  const auto volumes = questions.Put(pool, [](pool::Pool& one) { return one.List("", 0); });
  if (!volumes.ok()) return;
  for (const Volume& volume : *volumes) {
    const std::vector<prometheus::ClientMetric::Label> labels = LabelsOf(volume);
    server::Add(capacity_, labels, volume.capacity_bytes);
    const auto allocated = pool.AllocatedTo(volume.id);
    if (allocated.ok()) server::Add(allocated_, labels, *allocated);
  }
}

void VolumeFamilies::MoveTo(std::vector<prometheus::MetricFamily>& families) {
  Move({&capacity_, &allocated_}, families);
}

}  // namespace holdfast::server
