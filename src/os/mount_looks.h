// SPDX-License-Identifier: Apache-2.0
// A gate between this process's inspections of mounts and its unmounts: an open descriptor on a
// mount keeps it busy, so a call that only measures could make another call report that a pod's
// mount is in use.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace holdfast::os {

// Hold this while a descriptor on a mount is open without the volume's lock. Do not hold it while
// waiting for another filesystem. Inspections do not wait for each other. Thread-safe.
[[nodiscard]] std::shared_lock<std::shared_timed_mutex> LookAtMount();

// An unmount that found its mount busy holds this while it tries again. Waits for inspections in
// progress, for a second at most: one of a dead filesystem must not delay the teardown of other
// volumes.
[[nodiscard]] std::unique_lock<std::shared_timed_mutex> HoldBackLooks();

}  // namespace holdfast::os
