// SPDX-License-Identifier: Apache-2.0
// Calls that belong to no single volume.
#pragma once

#include "client/connection.h"
#include "common/options.h"
#include "common/workload.h"

namespace bench {

void Probe(Connection& driver);
void GetCapacity(Connection& driver);
void ListPage(Connection& driver, int entries);

// Waits until the driver's socket accepts connections and Probe reports ready. Returns the seconds
// of CLOCK_MONOTONIC at that moment. Throws if that takes longer than a minute.
double AwaitReady(const Options& options);

}  // namespace bench
