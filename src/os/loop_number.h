// SPDX-License-Identifier: Apache-2.0
// One loop number N: its node /dev/loopN, its entry in sysfs, who owns it, and the two settings
// that outlast a binding and would affect the next image on the same number: discard switched off,
// and BLKROSET. All of it from the kernel alone: no file, pool or record is read.
#pragma once

#include <linux/loop.h>

#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "os/loop_device.h"
#include "os/unique_fd.h"

namespace holdfast::os {

// ---- the number itself: for loop_*.cc only; other code uses LoopDevice

// "/dev/loop3"
[[nodiscard]] std::string LoopPath(int index);

// Opens the node with open(2)'s `flags`, after creating it if it is missing: a container with its
// own /dev does not see the nodes that the kernel creates. On failure the result is invalid and
// errno is set: ENOENT if the number does not exist, ENXIO if it is being unbound or removed, EBUSY
// (O_EXCL) if it is mounted or claimed otherwise.
[[nodiscard]] UniqueFd OpenLoop(int index, int flags);

// All existing numbers, bound or not, in no particular order.
[[nodiscard]] std::vector<int> LoopNumbers();

// LoopOptions::label, or another program's text.
[[nodiscard]] std::string LabelOf(const loop_info64& info);

// The errno of LOOP_GET_STATUS64 for a bound device whose file cannot be looked at, because the
// disk under it has failed or its filesystem was shut down: the kernel asks the file first and then
// shows nothing, not even the label.
[[nodiscard]] bool IsOutOfReach(int error_number);

// True while a file is bound to it.
[[nodiscard]] bool IsBound(int index);

// True if the device accepts discard requests, which punch holes into its image.
[[nodiscard]] bool AcceptsDiscard(int index);

// True if discard was switched off on a number that supports it. Known only once the
// number has been bound. Discard can then only be had back by removing the number
// (LOOP_CTL_REMOVE): the kernel refuses to raise the limit again.
[[nodiscard]] bool DiscardIsSwitchedOff(int index);

// INTERNAL if the kernel refuses. Waits for the device's queue to freeze: about 15 ms, or not at
// all if discard is already off.
[[nodiscard]] absl::Status SwitchDiscardOff(int index);

// True if BLKROSET, not the way it is attached (`info`), makes the open device read-only.
[[nodiscard]] bool IsSetReadOnly(int node_fd, const loop_info64& info);

// Undoes BLKROSET on an open node. False if the kernel refuses.
[[nodiscard]] bool SetWritable(int node_fd);

// Undoes BLKROSET on an unbound number; does nothing if it was bound again.
void ResetReadOnly(int index);

// ---- whose device it is

struct LoopLabel {
  int index = -1;
  std::string label{};
};

// All bound loop devices whose label begins with `prefix`, in no particular order, including those
// whose file has been deleted. About 10 us per device of the host; skips a device that cannot be
// inspected.
[[nodiscard]] std::vector<LoopLabel> LoopLabels(const std::string& prefix);

// The devices with exactly this label.
[[nodiscard]] absl::StatusOr<std::vector<LoopDevice>> FindLoopsByLabel(const std::string& label);

// What sysfs shows of a bound device; no disk is asked for it.
struct LoopFile {
  std::string path{};  // when it was bound; without what sysfs adds if it was deleted since
  bool direct_io = false;
};
// Nothing if it is not bound.
[[nodiscard]] std::optional<LoopFile> FileOfLoop(int index);

struct LoopIdentity {
  // LoopOptions::label, or what another program put there. Nothing where the kernel does not show
  // it, because what carries the file is dead; then `path` is all there is.
  std::optional<std::string> label;
  std::string path;  // only without a label: the file's path in sysfs, deleted or not
};

// Nothing if no file is bound to the number `index`. INTERNAL if it cannot be inspected.
[[nodiscard]] absl::StatusOr<std::optional<LoopIdentity>> IdentifyLoop(int index);

}  // namespace holdfast::os
