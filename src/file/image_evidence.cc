// SPDX-License-Identifier: Apache-2.0
#include "file/image_evidence.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "file/image_file.h"
#include "file/image_mark.h"

namespace holdfast::file {
namespace {

constexpr char kFormattedMark[] = "trusted.holdfast.formatted";
constexpr Bytes kZeroPiece = kMiB;

struct Part {
  Bytes begin = 0;
  Bytes end = 0;
};

// The first part at or behind `begin` that may hold data; nothing if there is none.
absl::StatusOr<std::optional<Part>> NextPart(int image_fd, Bytes begin, Bytes size) {
  if (begin >= size) return std::nullopt;
  const off_t data = ::lseek(image_fd, begin, SEEK_DATA);
  if (data < 0 && errno == ENXIO) return std::nullopt;
  if (data < 0 && errno == EINVAL) return Part{begin, size};  // it does not support SEEK_DATA
  if (data < 0) return OsError(errno, "cannot look for data in the image");
  const off_t hole = ::lseek(image_fd, data, SEEK_HOLE);
  if (hole < 0) return OsError(errno, "cannot look for holes in the image");
  return Part{data, hole};
}

absl::StatusOr<bool> IsZero(int image_fd, const Part& part) {
  std::vector<char> piece(kZeroPiece);
  for (Bytes at = part.begin; at < part.end;) {
    const auto wanted = static_cast<std::size_t>(std::min(kZeroPiece, part.end - at));
    const ssize_t read = ::pread(image_fd, piece.data(), wanted, at);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return OsError(errno, "cannot read the image");
    if (read == 0) break;
    if (std::any_of(piece.begin(), piece.begin() + read, [](char byte) { return byte != 0; })) {
      return false;
    }
    at += read;
  }
  return true;
}

}  // namespace

absl::Status MarkFormatted(int image_fd, const std::string& filesystem,
                           const std::string& filesystem_uuid) {
  // The filesystem itself is the better evidence, where it can be read.
  return WriteMark(image_fd, kFormattedMark, fmt::format("{} {}", filesystem, filesystem_uuid))
      .status();
}

absl::StatusOr<std::string> FormattedUuid(int image_fd) {
  ASSIGN_OR_RETURN(const std::string mark, ReadMark(image_fd, kFormattedMark));
  if (mark.empty()) return mark;
  std::string uuid = mark.substr(mark.find(' ') + 1);
  if (!IsUuid(uuid)) return Internal("the image's attribute {} is damaged", kFormattedMark);
  return uuid;
}

absl::StatusOr<bool> HoldsData(int image_fd, Bytes begin) {
  ASSIGN_OR_RETURN(const Bytes size, ImageSize(image_fd));
  for (;;) {
    ASSIGN_OR_RETURN(const auto part, NextPart(image_fd, begin, size));
    if (!part) return false;
    ASSIGN_OR_RETURN(const bool zero, IsZero(image_fd, *part));
    if (!zero) return true;
    begin = part->end;
  }
}

}  // namespace holdfast::file
