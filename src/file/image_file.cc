// SPDX-License-Identifier: Apache-2.0
#include "file/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/disk_names.h"
#include "os/extent_walk.h"
#include "os/file.h"
#include "os/file_flags.h"
#include "os/shared_extents.h"

namespace holdfast::file {
namespace {

constexpr int kImageMode = 0600;
constexpr Bytes kStatBlock = 512;  // unit of st_blocks, stat(2)

struct Gap {
  Bytes begin = 0;
  Bytes end = 0;
};

absl::Status Fallocate(int image_fd, int mode, const Gap& range, std::string_view what) {
  int result = 0;
  do {
    result = ::fallocate(image_fd, mode, range.begin, range.end - range.begin);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? absl::OkStatus() : AllocationError(errno, what);
}

absl::Status Truncate(int image_fd, Bytes size) {
  if (::ftruncate(image_fd, size) == 0) return absl::OkStatus();
  return AllocationError(errno, "cannot set the size of the image");
}

absl::StatusOr<struct stat> StatOf(int image_fd) {
  struct stat facts {};
  if (::fstat(image_fd, &facts) != 0) return OsError(errno, "cannot stat image");
  return facts;
}

// What of the first `size` bytes has no extent.
absl::StatusOr<std::vector<Gap>> Gaps(int image_fd, Bytes size) {
  ASSIGN_OR_RETURN(const struct stat facts, StatOf(image_fd));
  const Bytes present = std::min<Bytes>(facts.st_size, size);
  std::vector<Gap> gaps;
  Bytes reached = 0;
  const auto reach = [&](Bytes begin, Bytes end) {
    if (begin > reached) gaps.push_back({reached, std::min(begin, size)});
    reached = std::max(reached, end);
  };
  if (present > 0) {
    const os::ExtentWalk walk{.begin = 0, .end = present, .flush = false, .limit = 0};
    RETURN_IF_ERROR(os::WalkExtents(image_fd, walk, [&](const fiemap_extent& extent) {
      const auto begin = static_cast<Bytes>(extent.fe_logical);
      reach(begin, std::min(begin + static_cast<Bytes>(extent.fe_length), present));
      return reached < present;
    }));
  }
  reach(size, size);
  return gaps;
}

// xfs sets room aside for all of a range before it looks at what is allocated already
// (fs/xfs/xfs_bmap_util.c, xfs_alloc_file_space): a volume of more than half the disk could not
// grow at all. So what a whole range has no room for is allocated gap by gap.
absl::Status Allocate(int image_fd, Bytes size, std::string_view what) {
  const absl::Status whole = Fallocate(image_fd, 0, {0, size}, what);
  if (!absl::IsResourceExhausted(whole)) return whole;
  const auto gaps = Gaps(image_fd, size);
  if (!gaps.ok()) return whole;
  for (const Gap& gap : *gaps) RETURN_IF_ERROR(Fallocate(image_fd, 0, gap, what));
  return absl::OkStatus();
}

}  // namespace

absl::Status AllocationError(int error_number, std::string_view what) {
  const absl::Status status = OsError(error_number, what);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return WithCode(status, absl::StatusCode::kResourceExhausted);
    case EFBIG:
      return WithCode(status, absl::StatusCode::kOutOfRange);
    default:
      return status;
  }
}

absl::StatusOr<os::UniqueFd> CreateImage(int directory_fd) {
  const int fd =
      ::openat(directory_fd, kImageName, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kImageMode);
  if (fd < 0 && errno == EEXIST) return AlreadyExists("there is an image already");
  if (fd < 0) return AllocationError(errno, "cannot create image");
  os::UniqueFd image(fd);
  RETURN_IF_ERROR(os::DisableCopyOnWrite(image.get()));
  return image;
}

absl::Status MakeImage(int directory_fd, Bytes size, Provisioning provisioning) {
  ASSIGN_OR_RETURN(const os::UniqueFd image, CreateImage(directory_fd));
  return ExtendImage(image.get(), size, provisioning);
}

absl::StatusOr<os::UniqueFd> OpenImage(int directory_fd) {
  auto opened = os::OpenFileAt(directory_fd, kImageName, O_RDWR);
  if (absl::IsNotFound(opened.status())) {
    return NotFound("the image is missing; restore it from a backup");
  }
  RETURN_IF_ERROR(opened.status());
  os::UniqueFd image = *std::move(opened);
  ASSIGN_OR_RETURN(const struct stat facts, StatOf(image.get()));
  if (!S_ISREG(facts.st_mode)) return Internal("image is not a regular file");
  return image;
}

absl::StatusOr<std::optional<os::UniqueFd>> OpenImageReadOnly(int directory_fd) {
  struct stat facts {};
  if (::fstatat(directory_fd, kImageName, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return OsError(errno, "cannot stat image");
  }
  if (!S_ISREG(facts.st_mode)) return std::nullopt;
  ASSIGN_OR_RETURN(os::UniqueFd image, os::OpenFileAt(directory_fd, kImageName, O_RDONLY));
  return image;
}

absl::StatusOr<Bytes> ImageSize(int image_fd) {
  ASSIGN_OR_RETURN(const struct stat facts, StatOf(image_fd));
  return facts.st_size;
}

absl::StatusOr<Bytes> ImageAllocated(int image_fd) {
  ASSIGN_OR_RETURN(const struct stat facts, StatOf(image_fd));
  return facts.st_blocks * kStatBlock;
}

absl::Status ExtendImage(int image_fd, Bytes size, Provisioning provisioning) {
  if (provisioning == Provisioning::kThick) {
    RETURN_IF_ERROR(Allocate(image_fd, size, "cannot allocate the image"));
  } else {
    ASSIGN_OR_RETURN(const Bytes present, ImageSize(image_fd));
    if (present < size) RETURN_IF_ERROR(Truncate(image_fd, size));
  }
  return os::Sync(image_fd, "image");
}

absl::Status CutOffImage(int image_fd, Bytes size) {
  RETURN_IF_ERROR(Truncate(image_fd, size));
  return os::Sync(image_fd, "image");
}

absl::Status RefillHoles(int image_fd, Bytes size) {
  ASSIGN_OR_RETURN(const Bytes allocated, ImageAllocated(image_fd));
  if (allocated >= size) return absl::OkStatus();
  return Allocate(image_fd, size, "cannot refill the holes of the image");
}

std::string WhyNotThick(int image_fd, bool has_copies) {
  // What cannot be found out is not a reason to call a volume abnormal.
  if (os::IsCopiedOnWrite(image_fd).value_or(false)) {
    return "its image lost the attribute NOCOW (chattr +C), as copies do";
  }
  if (!has_copies && os::SharesExtents(image_fd, kExtentsLookedAt).value_or(false)) {
    return "its image shares blocks with another file (a reflink copy or a snapshot)";
  }
  return "";
}

absl::Status ZeroImage(int image_fd, Bytes size, Provisioning provisioning) {
  RETURN_IF_ERROR(Fallocate(image_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, {0, size},
                            "cannot make the image blank"));
  return ExtendImage(image_fd, size, provisioning);
}

}  // namespace holdfast::file
