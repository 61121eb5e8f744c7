// SPDX-License-Identifier: Apache-2.0
// The metrics of each volume, for those who want them: two lines for each.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "pool/pool.h"
#include "pool/questions.h"

namespace holdfast::server {

class VolumeFamilies final {
 public:
  VolumeFamilies();
  // Of all volumes of the pool; of none if it does not answer.
  void Add(const pool::Questions& questions, pool::Pool& pool);
  void MoveTo(std::vector<prometheus::MetricFamily>& families);

 private:
  prometheus::MetricFamily capacity_;
  prometheus::MetricFamily allocated_;
};

}  // namespace holdfast::server
