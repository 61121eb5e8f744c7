// SPDX-License-Identifier: Apache-2.0
// Keeps looks at mounts and unmounts of this process apart: an open descriptor on a mount keeps it
// busy, so a call that only measures would make another one say that a pod's mount is in use.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace holdfast::os {

// Hold this for as long as a descriptor on a mount is open that no lock of the volume covers. Not
// over anything that waits for another filesystem. Looks do not wait for each other. Thread-safe.
[[nodiscard]] std::shared_lock<std::shared_timed_mutex> LookAtMount();

// Held by an unmount that found its mount busy, while it tries again. Waits for the looks that are
// under way, a second at most: one at a dead filesystem must not hold up other volumes' teardown.
[[nodiscard]] std::unique_lock<std::shared_timed_mutex> HoldBackLooks();

}  // namespace holdfast::os
