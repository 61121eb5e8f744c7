// SPDX-License-Identifier: Apache-2.0
// Families of metrics that are measured when they are asked for.
#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace holdfast::server {

[[nodiscard]] inline prometheus::MetricFamily Family(const char* name, const char* help,
                                                     prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

// `family` is one of counters or of gauges.
template <typename Number>
void Add(prometheus::MetricFamily& family, std::vector<prometheus::ClientMetric::Label> labels,
         Number value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == prometheus::MetricType::Counter) {
    metric.counter.value = static_cast<double>(value);
  } else {
    metric.gauge.value = static_cast<double>(value);
  }
  family.metric.push_back(std::move(metric));
}

// Those that have any metric.
inline void Move(std::initializer_list<prometheus::MetricFamily*> from,
                 std::vector<prometheus::MetricFamily>& families) {
  for (prometheus::MetricFamily* const family : from) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
}

}  // namespace holdfast::server
