// SPDX-License-Identifier: Apache-2.0
#include "os/descriptor_gates.h"

#include <chrono>

namespace holdfast::os {
namespace {

constexpr std::chrono::seconds kPatience{1};

// One of each per process, as the descriptor table is.
std::shared_timed_mutex& SpawnGate() {
  static std::shared_timed_mutex gate;
  return gate;
}

std::shared_timed_mutex& MountGate() {
  static std::shared_timed_mutex gate;
  return gate;
}

}  // namespace

std::shared_lock<std::shared_timed_mutex> HoldBackSpawns() { return std::shared_lock(SpawnGate()); }

std::unique_lock<std::shared_timed_mutex> HoldBackClaims() {
  return std::unique_lock(SpawnGate(), kPatience);
}

std::shared_lock<std::shared_timed_mutex> LookAtMount() { return std::shared_lock(MountGate()); }

std::unique_lock<std::shared_timed_mutex> HoldBackLooks() {
  return std::unique_lock(MountGate(), kPatience);
}

}  // namespace holdfast::os
