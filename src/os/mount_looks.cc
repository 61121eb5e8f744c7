// SPDX-License-Identifier: Apache-2.0
#include "os/mount_looks.h"

#include <chrono>

namespace holdfast::os {
namespace {

constexpr std::chrono::seconds kPatience{1};

std::shared_timed_mutex& Gate() {
  static std::shared_timed_mutex gate;
  return gate;
}

}  // namespace

std::shared_lock<std::shared_timed_mutex> LookAtMount() { return std::shared_lock(Gate()); }

std::unique_lock<std::shared_timed_mutex> HoldBackLooks() {
  return std::unique_lock(Gate(), kPatience);
}

}  // namespace holdfast::os
