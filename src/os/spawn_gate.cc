// SPDX-License-Identifier: Apache-2.0
#include "os/spawn_gate.h"

#include <chrono>

namespace holdfast::os {
namespace {

constexpr std::chrono::seconds kPatience{1};

// One per process, as the descriptor table is.
std::shared_timed_mutex& Gate() {
  static std::shared_timed_mutex gate;
  return gate;
}

}  // namespace

std::shared_lock<std::shared_timed_mutex> HoldBackSpawns() { return std::shared_lock(Gate()); }

std::unique_lock<std::shared_timed_mutex> HoldBackClaims() {
  return std::unique_lock(Gate(), kPatience);
}

}  // namespace holdfast::os
