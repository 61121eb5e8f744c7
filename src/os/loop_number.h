// SPDX-License-Identifier: Apache-2.0
// One loop number N: its node /dev/loopN, its entry in sysfs, and the two settings that stick to it
// beyond a binding and would hit the next image on the same number: discard switched off, and
// BLKROSET. For loop_*.cc only; everybody else sees LoopDevice.
#pragma once

#include <linux/loop.h>

#include <string>
#include <vector>

#include "core/status.h"
#include "os/unique_fd.h"

namespace holdfast::os {

// "/dev/loop3"
[[nodiscard]] std::string LoopPath(int index);

// Opens the node with open(2)'s `flags`, after making it if it is missing: a container with a /dev
// of its own does not see the nodes that the kernel makes. Invalid with errno set when it cannot be
// opened: ENOENT there is no such number, ENXIO it is being unbound or removed, EBUSY (O_EXCL) it
// is mounted or claimed otherwise.
[[nodiscard]] UniqueFd OpenLoop(int index, int flags);

// Every number there is, bound or not, in no order.
[[nodiscard]] std::vector<int> LoopNumbers();

// LoopOptions::label, or what another program put there.
[[nodiscard]] std::string LabelOf(const loop_info64& info);

// The errno of LOOP_GET_STATUS64 for a bound device whose file cannot be looked at, because the
// disk under it has failed or its filesystem was shut down: the kernel asks the file first and then
// shows nothing, not even the label.
[[nodiscard]] bool IsOutOfReach(int error_number);

// True while a file is bound to it.
[[nodiscard]] bool IsBound(int index);

// True if the device takes discard requests, which punch holes into its image.
[[nodiscard]] bool AcceptsDiscard(int index);

// True if discard was switched off on a number that supports it. Known only once the
// number has been bound. Discard can then only be had back by removing the number
// (LOOP_CTL_REMOVE): the kernel refuses to raise the limit again.
[[nodiscard]] bool DiscardIsSwitchedOff(int index);

// INTERNAL if the kernel refuses. Waits for the device's queue to freeze: some 15 ms, nothing if
// discard is off already.
[[nodiscard]] absl::Status SwitchDiscardOff(int index);

// True if BLKROSET, not the way it is attached (`info`), makes the open device read-only.
[[nodiscard]] bool IsSetReadOnly(int node_fd, const loop_info64& info);

// Undoes BLKROSET on an open node. False if the kernel refuses.
[[nodiscard]] bool SetWritable(int node_fd);

// Undoes BLKROSET on an unbound number; does nothing if it was bound again.
void ResetReadOnly(int index);

}  // namespace holdfast::os
