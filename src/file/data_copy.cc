// SPDX-License-Identifier: Apache-2.0
#include "file/data_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>

#include "core/volume.h"
#include "file/image_file.h"

namespace holdfast::file {
namespace {

using Clock = std::chrono::steady_clock;
using os::Extent;

constexpr Bytes kPiece = kMiB;
// Of offsets, lengths and memory with direct I/O: whatever the disk's sectors are.
constexpr Bytes kAlignment = 4096;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<char, Free>;

absl::StatusOr<Buffer> MakeBuffer() {
  Buffer buffer(static_cast<char*>(std::aligned_alloc(kAlignment, kPiece)));
  if (buffer == nullptr) return Unavailable("there is no memory for a copy; try again");
  return buffer;
}

// Nothing is changed where the filesystem has no direct I/O.
void SetDirectIo(int fd, bool direct) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return;
  (void)::fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT);
}

bool HasDirectIo(int fd) { return (::fcntl(fd, F_GETFL) & O_DIRECT) != 0; }

absl::Status ForEachData(int fd, Bytes end,
                         const std::function<absl::Status(const Extent&)>& take) {
  for (Bytes at = 0; at < end;) {
    ASSIGN_OR_RETURN(const auto data, NextData(fd, at, end));
    if (!data) break;
    RETURN_IF_ERROR(take(*data));
    at = data->end;
  }
  return absl::OkStatus();
}

using Transfer = std::function<ssize_t(int fd, char* memory, std::size_t size, off_t at)>;

// Filesystems may accept O_DIRECT and then not these offsets.
absl::StatusOr<Bytes> TransferSome(int fd, char* memory, Bytes size, Bytes at,
                                   const Transfer& transfer, std::string_view what) {
  while (true) {
    const ssize_t done = transfer(fd, memory, static_cast<std::size_t>(size), at);
    if (done >= 0) return done;
    if (errno == EINTR) continue;
    if (errno != EINVAL || !HasDirectIo(fd)) return AllocationError(errno, what);
    SetDirectIo(fd, false);
  }
}

absl::Status CopyPiece(int source_fd, int target_fd, char* memory, const Extent& piece) {
  for (Bytes at = piece.begin; at < piece.end;) {
    ASSIGN_OR_RETURN(const Bytes read, TransferSome(source_fd, memory, piece.end - at, at, ::pread,
                                                    "cannot read the image"));
    if (read == 0) return Internal("the image ends at {}, before its size", at);
    for (Bytes written = 0; written < read;) {
      ASSIGN_OR_RETURN(const Bytes more,
                       TransferSome(target_fd, memory + written, read - written, at + written,
                                    ::pwrite, "cannot write the copy"));
      written += more;
    }
    at += read;
  }
  return absl::OkStatus();
}

// So that it does not stay in the page cache, where there is no direct I/O.
void LeavePageCache(int fd, Bytes begin, Bytes end) {
  if (HasDirectIo(fd)) return;
  (void)::fdatasync(fd);
  (void)::posix_fadvise(fd, begin, end - begin, POSIX_FADV_DONTNEED);
}

}  // namespace

absl::StatusOr<Bytes> DataBytes(int image_fd, Bytes end) {
  Bytes bytes = 0;
  RETURN_IF_ERROR(ForEachData(image_fd, end, [&](const Extent& data) {
    bytes += data.end - data.begin;
    return absl::OkStatus();
  }));
  return bytes;
}

absl::Status AllocateForData(int source_fd, int target_fd, Bytes end) {
  return ForEachData(source_fd, end, [&](const Extent& data) -> absl::Status {
    while (::fallocate(target_fd, FALLOC_FL_KEEP_SIZE, data.begin, data.end - data.begin) != 0) {
      if (errno == EINTR) continue;
      if (errno == EOPNOTSUPP) break;
      return AllocationError(errno, "cannot allocate the copy");
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::optional<Extent>> NextData(int image_fd, Bytes begin, Bytes end) {
  const off_t data = ::lseek(image_fd, begin, SEEK_DATA);
  if (data < 0 && errno == ENXIO) return std::nullopt;
  if (data < 0) return OsError(errno, "cannot find the data of the image");
  if (data >= end) return std::nullopt;
  const off_t hole = ::lseek(image_fd, data, SEEK_HOLE);
  if (hole < 0) return OsError(errno, "cannot find the data of the image");
  return Extent{std::max(begin, AlignDown(data, kAlignment)),
                std::min(end, AlignUp(hole, kAlignment))};
}

absl::StatusOr<std::string> VersionOf(int image_fd) {
  struct stat facts {};
  if (::fstat(image_fd, &facts) != 0) return OsError(errno, "cannot stat the image");
  return fmt::format("{} bytes, changed {}.{:09}", facts.st_size, facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec);
}

absl::StatusOr<CopiedPart> CopyData(int source_fd, int target_fd, Bytes begin, Bytes end,
                                    Clock::time_point until, Bytes most) {
  ASSIGN_OR_RETURN(const Buffer buffer, MakeBuffer());
  SetDirectIo(source_fd, true);
  SetDirectIo(target_fd, true);
  const auto start = Clock::now();
  CopiedPart part{.reached = begin};
  std::optional<Extent> data;
  while (part.reached < end) {
    if (!data || data->begin >= data->end) {
      ASSIGN_OR_RETURN(data, NextData(source_fd, part.reached, end));
    }
    if (!data) {
      part.reached = end;
      break;
    }
    if (part.copied > 0 && (part.copied >= most || Clock::now() >= until)) break;
    const Extent piece{data->begin, std::min(data->end, data->begin + kPiece)};
    RETURN_IF_ERROR(CopyPiece(source_fd, target_fd, buffer.get(), piece));
    part.copied += piece.end - piece.begin;
    data->begin = part.reached = piece.end;
  }
  LeavePageCache(source_fd, begin, part.reached);
  LeavePageCache(target_fd, begin, part.reached);
  part.took = Clock::now() - start;
  return part;
}

}  // namespace holdfast::file
