// SPDX-License-Identifier: Apache-2.0
// The metrics process_*, which Prometheus' client libraries have in common.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace holdfast::server {

// Of this process, measured now; none where /proc cannot be read.
void AddProcess(std::vector<prometheus::MetricFamily>& families);

}  // namespace holdfast::server
