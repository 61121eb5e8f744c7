// SPDX-License-Identifier: Apache-2.0
// A gate between exclusive claims on devices and the start of child processes.
//
// A spawned child has a copy of every descriptor of this process until it has closed them,
// O_CLOEXEC or not. If one of them is another thread's exclusive claim on a device (O_EXCL), that
// claim outlives the thread's close for a moment, and the next open of the device fails because it
// is in use. The same applies to a descriptor on a mount that is about to be unmounted.
//
// The gate is not a core/mutex.h: it guards no data, so the compiler has nothing to check.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace holdfast::os {

// Hold this for as long as an exclusive claim is open: children wait. Claims do not wait for each
// other. Do not start a child while holding it. Thread-safe.
[[nodiscard]] std::shared_lock<std::shared_timed_mutex> HoldBackSpawns();

// The start of a child holds this from the copy of the descriptors until the child has executed its
// program: claims wait (about a millisecond). It waits for claims, but no longer than a second: one
// that hangs in the kernel, as a detachment on a dead disk does, must not keep every other volume
// from being formatted and checked. The returned lock is then not owned, and the worst outcome is
// the failure described above.
[[nodiscard]] std::unique_lock<std::shared_timed_mutex> HoldBackClaims();

}  // namespace holdfast::os
