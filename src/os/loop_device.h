// SPDX-License-Identifier: Apache-2.0
// Loop devices over image files: attach, find again, refresh, detach.
//
// A loop device is identified by its backing file's (device, inode), read by LOOP_GET_STATUS64,
// never by its number or by a file name. The kernel lets one file be attached twice, which means
// two caches over one set of bytes: callers attach an image only if FindLoops found no device of
// it, under their own lock per image. Autoclear stays off: the device must outlive mounts in other
// name spaces and restarts of the process. Needs CAP_SYS_ADMIN and kernel 5.8 (LOOP_CONFIGURE). All
// functions are thread-safe; failures are INTERNAL unless stated otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "os/block_device.h"

namespace holdfast::os {

struct LoopOptions {
  std::uint32_t sector_size = 512;  // logical sector: 512 or 4096
  bool direct_io = true;            // bypass the page cache of the host's filesystem
  bool read_only = false;
  // false: the device refuses discard, so nothing can punch holes into the image.
  bool discard = true;
  // Kept by the kernel with the device from the moment it is bound, at most kMaxLoopLabel bytes.
  // Programs that name a file there (losetup) give its path, so a label that begins otherwise
  // says whose device it is.
  std::string label{};
};

inline constexpr std::size_t kMaxLoopLabel = 63;  // LO_NAME_SIZE without its NUL, <linux/loop.h>

struct LoopDevice {
  int index = -1;  // N of /dev/loopN
  BlockDevice block;
  bool direct_io = false;  // the kernel's actual setting: it may refuse
  bool whole = true;       // shows all of the file (no offset, no size limit)
  std::string label{};     // LoopOptions::label, or another program's text
};

struct LoopsOfImage {
  std::optional<LoopDevice> own{};    // the one of the label that was asked for
  std::optional<LoopDevice> other{};  // one that another program attached, if it was found
};

// The loop devices whose backing file is the open file `image_fd`: the one with this label that
// shows the whole file, and one with any other label. `hint` is a loop index to try first (-1:
// none); if our own device is there, no other is searched for. If there is none, the answer is
// cheap as long as `image_fd` is the only open file description of the image: the kernel then gives
// it at once (a write lease, fcntl(2)). Otherwise all loop devices of the host are inspected, about
// 10 us each. FAILED_PRECONDITION if two devices have the label.
[[nodiscard]] absl::StatusOr<LoopsOfImage> FindLoops(int image_fd, const std::string& label,
                                                     int hint = -1);

// Attaches `image_fd` (open for writing unless read_only) to a free loop device and creates its
// node if the kernel's has not appeared. Falls back to buffered I/O where direct I/O is refused. A
// number whose discard was left switched off is passed over if discard is wanted, and used by
// preference if not, because switching it off takes the kernel some 15 ms. A number whose node is
// mounted somewhere is passed over: it was published to a pod, and another program detached it
// since. INTERNAL when no device could be configured within a bounded number of tries.
[[nodiscard]] absl::StatusOr<LoopDevice> AttachLoop(int image_fd, const LoopOptions& options);

// Makes an attached device refuse discard, as LoopOptions::discard = false does; OK if it does. A
// process that was killed in AttachLoop can leave a device that still accepts it.
[[nodiscard]] absl::Status RefuseDiscard(const LoopDevice& loop);

// Makes the kernel see the present size of the backing file (LOOP_SET_CAPACITY) and returns it.
[[nodiscard]] absl::StatusOr<Bytes> RefreshLoop(const LoopDevice& loop);

// Detaches and waits until the device is really unbound; OK if it was not bound, or has another
// label by now: then the number belongs to another program. Takes back SetReadOnly, which would
// stick to the number. Discard switched off sticks too: such a number stays idle for the next
// attachment of its kind until RetireIdleLoops. FAILED_PRECONDITION when a program still has the
// device open (it is then left attached).
[[nodiscard]] absl::Status DetachLoop(const LoopDevice& loop);

// Removes the unbound numbers whose discard is switched off, whichever program left them, so that
// no other user of loop devices gets one. Best effort; some 45 ms of waiting each, so not for a
// request: to be called at start, after a while without detachments, and at shutdown.
void RetireIdleLoops();

// FAILED_PRECONDITION, with the remedy, unless /dev/loop-control can be opened, which loads the
// loop driver where that is a module.
[[nodiscard]] absl::Status RequireLoopDriver();

}  // namespace holdfast::os
