// SPDX-License-Identifier: Apache-2.0
// Gates that keep open descriptors of this process from making a device or a mount look busy.
//
// They are not a core/mutex.h: they guard no data, so the compiler has nothing to check.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace holdfast::os {

// ---- between exclusive claims on devices and the start of child processes
//
// A spawned child has a copy of every descriptor of this process until it has closed them,
// O_CLOEXEC or not. If one of them is another thread's exclusive claim on a device (O_EXCL), that
// claim outlives the thread's close for a moment, and the next open of the device fails because it
// is in use. The same applies to a descriptor on a mount that is about to be unmounted.

// Hold this for as long as an exclusive claim is open: children wait. Claims do not wait for each
// other. Do not start a child while holding it. Thread-safe.
[[nodiscard]] std::shared_lock<std::shared_timed_mutex> HoldBackSpawns();

// The start of a child holds this from the copy of the descriptors until the child has executed its
// program: claims wait (about a millisecond). It waits for claims, but no longer than a second: one
// that hangs in the kernel, as a detachment on a dead disk does, must not keep every other volume
// from being formatted and checked. The returned lock is then not owned, and the worst outcome is
// the failure described above.
[[nodiscard]] std::unique_lock<std::shared_timed_mutex> HoldBackClaims();

// ---- between this process's inspections of mounts and its unmounts
//
// An open descriptor on a mount keeps it busy, so a call that only measures could make another call
// report that a pod's mount is in use.

// Hold this while a descriptor on a mount is open without the volume's lock. Do not hold it while
// waiting for another filesystem. Inspections do not wait for each other. Thread-safe.
[[nodiscard]] std::shared_lock<std::shared_timed_mutex> LookAtMount();

// An unmount that found its mount busy holds this while it tries again. Waits for inspections in
// progress, for a second at most: one of a dead filesystem must not delay the teardown of other
// volumes.
[[nodiscard]] std::unique_lock<std::shared_timed_mutex> HoldBackLooks();

}  // namespace holdfast::os
