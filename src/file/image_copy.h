// SPDX-License-Identifier: Apache-2.0
// Images that are copies of others. Where the host filesystem can do that (FICLONE,
// ioctl_ficlone(2): xfs, btrfs) they begin by sharing all blocks with their source, and thick ones
// get blocks of their own afterwards; file/data_copy.h is for the others.
#pragma once

#include <atomic>

#include "core/bytes.h"
#include "core/status.h"

namespace holdfast::file {

// Gives a new, empty image the bytes of the open file `source_fd` at one instant, in a time that
// depends on the number of extents and not on the size. Not durable until it is synced.
// FAILED_PRECONDITION if the host filesystem cannot share blocks (it is neither xfs nor btrfs).
[[nodiscard]] absl::Status CloneImage(int source_fd, int image_fd);

// Notes with the image that it is a complete copy of its source, durably, and whether it may share
// blocks with it. RESOURCE_EXHAUSTED without room for the note: nothing else tells a copy in use
// from one that was never completed.
[[nodiscard]] absl::Status MarkCopied(int image_fd, bool shares);

// Whether MarkCopied has noted it. INTERNAL when that cannot be read.
[[nodiscard]] absl::StatusOr<bool> IsMarkedCopied(int image_fd);

// The bytes that are allocated to the image for itself: those that a copy still shares with others
// do not count, because an overwrite on either side needs new ones. INTERNAL when that cannot be
// found out.
[[nodiscard]] absl::StatusOr<Bytes> OwnBytes(int image_fd);

// Whether a copy has not had blocks of its own at any time since it was made.
[[nodiscard]] absl::StatusOr<bool> IsUnfinishedCopy(int image_fd);

// What writes to the image meanwhile.
enum class Writers { kNone, kADevice };

// Gives the copy blocks of its own, for about half a second; true when it has all, which is noted
// with it. Adds to `unshared` how many bytes got them, also when it fails. FAILED_PRECONDITION if
// the host filesystem cannot do that beside a writer (btrfs); RESOURCE_EXHAUSTED without room. The
// bytes stay what they are, also if the machine stops.
[[nodiscard]] absl::StatusOr<bool> UnshareImage(int image_fd, Writers writers,
                                                std::atomic<Bytes>& unshared);

}  // namespace holdfast::file
