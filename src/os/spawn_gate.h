// SPDX-License-Identifier: Apache-2.0
// Keeps exclusive claims on devices and the start of children apart.
//
// A spawned child has a copy of every descriptor of this process until it has closed them,
// O_CLOEXEC or not. If one of them is another thread's exclusive claim on a device (O_EXCL), that
// claim outlives the thread's close for a moment, and the next program that asks for the device
// learns that it is in use. The same holds for a descriptor on a mount that is to be removed.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace holdfast::os {

// Hold this for as long as an exclusive claim is open: children wait. Claims do not wait for each
// other. Do not start a child while holding it. Thread-safe.
[[nodiscard]] std::shared_lock<std::shared_timed_mutex> HoldBackSpawns();

// Held by the start of a child, from the copy of the descriptors until the child has executed its
// program: claims wait (about a millisecond). It waits for claims, but no longer than a second: one
// that hangs in the kernel, as a detachment on a dead disk does, must not keep every other volume
// from being formatted and checked. The lock is then not owned, and the worst is what is said
// above.
[[nodiscard]] std::unique_lock<std::shared_timed_mutex> HoldBackClaims();

}  // namespace holdfast::os
