// SPDX-License-Identifier: Apache-2.0
#include "server/process_metrics.h"

#include <utility>

#include "os/process_usage.h"
#include "server/metric_family.h"

namespace holdfast::server {

using prometheus::MetricType;

void AddProcess(std::vector<prometheus::MetricFamily>& families) {
  const auto usage = os::MeasureProcess();
  if (!usage.ok()) return;
  const auto add = [&](const char* name, const char* help, MetricType type, auto value) {
    prometheus::MetricFamily family = Family(name, help, type);
    Add(family, {}, value);
    families.push_back(std::move(family));
  };
  add("process_cpu_seconds_total", "processor time, user and system", MetricType::Counter,
      usage->cpu_seconds);
  add("process_start_time_seconds", "when the process started, in seconds since 1970",
      MetricType::Gauge, usage->started_at);
  add("process_resident_memory_bytes", "memory that is in RAM", MetricType::Gauge,
      usage->resident_bytes);
  add("process_virtual_memory_bytes", "memory that is mapped", MetricType::Gauge,
      usage->virtual_bytes);
  add("process_threads", "threads", MetricType::Gauge, usage->threads);
  add("process_open_fds", "open files and connections", MetricType::Gauge, usage->open_files);
  add("process_max_fds", "the limit on them", MetricType::Gauge, usage->max_open_files);
}

}  // namespace holdfast::server
