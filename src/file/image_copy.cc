// SPDX-License-Identifier: Apache-2.0
#include "file/image_copy.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "file/image_file.h"
#include "file/image_mark.h"
#include "os/file.h"
#include "os/shared_extents.h"

namespace holdfast::file {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kCopiedMark[] = "trusted.holdfast.copied";
constexpr std::string_view kComplete = "complete";
constexpr std::string_view kOwnBlocks = "own blocks";
constexpr Bytes kUnsharedPiece = 8 * kMiB;  // less than the time takes
constexpr Bytes kBuffer = kMiB;
constexpr std::chrono::milliseconds kTime{500};

absl::Status CannotBesideWriter() {
  return FailedPrecondition(
      "the filesystem that carries the pool cannot give an image that is in use blocks of its own; "
      "they come when the volume is not staged");
}

// Every byte is written where it was read: the filesystem puts it into a new block, because the old
// one is shared, and after a power cut either block holds the same.
absl::Status Rewrite(int image_fd, const os::Extent& extent) {
  std::vector<char> buffer(kBuffer);
  for (Bytes at = extent.begin; at < extent.end;) {
    const auto wanted = static_cast<std::size_t>(std::min(kBuffer, extent.end - at));
    const ssize_t read = ::pread(image_fd, buffer.data(), wanted, at);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return OsError(errno, "cannot read the image");
    if (read == 0) break;  // the extent goes on behind the end of the image
    for (ssize_t done = 0; done < read;) {
      const ssize_t written = ::pwrite(image_fd, buffer.data() + done,
                                       static_cast<std::size_t>(read - done), at + done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return AllocationError(errno, "cannot write the image");
      done += written;
    }
    at += read;
  }
  if (::fdatasync(image_fd) != 0) return AllocationError(errno, "cannot sync the image");
  return absl::OkStatus();
}

absl::Status Unshare(int image_fd, const os::Extent& piece, Writers writers) {
  const absl::Status unshared = os::UnshareExtent(image_fd, piece);
  if (!absl::IsUnimplemented(unshared)) return unshared;
  return writers == Writers::kNone ? Rewrite(image_fd, piece) : CannotBesideWriter();
}

// True when all of it has blocks of its own, durably.
absl::StatusOr<bool> UnshareForAWhile(int image_fd, Writers writers, std::atomic<Bytes>& unshared) {
  const auto end = Clock::now() + kTime;
  for (Bytes at = 0; Clock::now() < end;) {
    ASSIGN_OR_RETURN(const auto extent, os::NextSharedExtent(image_fd, at));
    if (!extent) {
      RETURN_IF_ERROR(os::Sync(image_fd, "image"));
      return true;
    }
    const os::Extent piece{extent->begin, std::min(extent->end, extent->begin + kUnsharedPiece)};
    RETURN_IF_ERROR(Unshare(image_fd, piece, writers));
    unshared += piece.end - piece.begin;
    at = piece.end;
  }
  return false;
}

}  // namespace

absl::Status CloneImage(int source_fd, int image_fd) {
  const absl::Status cloned = os::CloneFile(source_fd, image_fd);
  if (!absl::IsUnimplemented(cloned)) return cloned;
  return FailedPrecondition(
      "the filesystem that carries the pool cannot share blocks between files: snapshots and "
      "copies need xfs (made with reflink=1) or btrfs under the pool");
}

absl::Status MarkCopied(int image_fd, bool shares) {
  ASSIGN_OR_RETURN(const bool marked,
                   WriteMark(image_fd, kCopiedMark, shares ? kComplete : kOwnBlocks));
  if (marked) return absl::OkStatus();
  return ResourceExhausted(
      "the filesystem that carries the pool has no room for the image's attribute {}; free some "
      "space or delete volumes",
      kCopiedMark);
}

absl::StatusOr<bool> IsMarkedCopied(int image_fd) {
  ASSIGN_OR_RETURN(const std::string mark, ReadMark(image_fd, kCopiedMark));
  return !mark.empty();
}

absl::StatusOr<bool> IsUnfinishedCopy(int image_fd) {
  ASSIGN_OR_RETURN(const std::string mark, ReadMark(image_fd, kCopiedMark));
  return mark == kComplete;
}

absl::StatusOr<Bytes> OwnBytes(int image_fd) {
  ASSIGN_OR_RETURN(const Bytes allocated, ImageAllocated(image_fd));
  ASSIGN_OR_RETURN(const bool shares, IsUnfinishedCopy(image_fd));
  if (!shares) return allocated;
  ASSIGN_OR_RETURN(const Bytes shared, os::SharedBytes(image_fd));
  return std::max<Bytes>(0, allocated - shared);
}

absl::StatusOr<bool> UnshareImage(int image_fd, Writers writers, std::atomic<Bytes>& unshared) {
  // What is reserved would be counted with the image.
  RETURN_IF_ERROR(os::SetCowReserve(image_fd, os::CowReserve::kNone));
  auto complete = UnshareForAWhile(image_fd, writers, unshared);
  RETURN_IF_ERROR(os::SetCowReserve(image_fd, os::CowReserve::kDefault));
  RETURN_IF_ERROR(complete.status());
  if (*complete) RETURN_IF_ERROR(WriteMark(image_fd, kCopiedMark, kOwnBlocks).status());
  return complete;
}

}  // namespace holdfast::file
