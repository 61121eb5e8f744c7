// SPDX-License-Identifier: Apache-2.0
#include "os/spawn_gate.h"

namespace holdfast::os {
namespace {

// One per process, as the descriptor table is.
std::shared_mutex& Gate() {
  static std::shared_mutex gate;
  return gate;
}

}  // namespace

std::shared_lock<std::shared_mutex> HoldBackSpawns() { return std::shared_lock(Gate()); }

std::unique_lock<std::shared_mutex> HoldBackClaims() { return std::unique_lock(Gate()); }

}  // namespace holdfast::os
