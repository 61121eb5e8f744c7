// SPDX-License-Identifier: Apache-2.0
#include "file/image_content.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "file/image_file.h"
#include "os/file.h"

namespace holdfast::file {
namespace {

constexpr Bytes kWriteEvery = 8 * kMiB;
constexpr Bytes kAhead = 8 * kMiB;

// What was read or written once is of no use to others: it must not take their place in the page
// cache.
void DropFromCache(int fd, Bytes offset, Bytes size) {
  (void)::posix_fadvise(fd, offset, size, POSIX_FADV_DONTNEED);
}

class ImageReader final : public ContentReader {
 public:
  ImageReader(os::UniqueFd image, Bytes size) : image_(std::move(image)), size_(size) {}

  [[nodiscard]] Bytes size() const override { return size_; }

  absl::StatusOr<std::optional<ContentPiece>> Next(Bytes offset) override {
    if (offset >= data_end_) RETURN_IF_ERROR(FindData(offset));
    offset = std::max(offset, data_begin_);
    if (offset >= size_) return std::nullopt;
    ContentPiece piece{.offset = offset, .bytes = {}};
    piece.bytes.resize(static_cast<std::size_t>(std::min(kContentPiece, data_end_ - offset)));
    ReadAhead(offset);
    std::size_t done = 0;
    while (done < piece.bytes.size()) {
      const ssize_t read = ::pread(image_.get(), piece.bytes.data() + done,
                                   piece.bytes.size() - done, offset + static_cast<Bytes>(done));
      if (read < 0 && errno == EINTR) continue;
      if (read < 0) return OsError(errno, "cannot read the image");
      if (read == 0) return Internal("the image ends at {}", offset + static_cast<Bytes>(done));
      done += static_cast<std::size_t>(read);
    }
    DropFromCache(image_.get(), offset, static_cast<Bytes>(done));
    return piece;
  }

 private:
  // While a piece is sent, the disk reads the next ones.
  void ReadAhead(Bytes offset) {
    const Bytes end = std::min(offset + kAhead, data_end_);
    const Bytes begin = std::max(offset, ahead_);
    if (end - begin < kAhead / 2 && end < data_end_) return;
    (void)::posix_fadvise(image_.get(), begin, end - begin, POSIX_FADV_WILLNEED);
    ahead_ = end;
  }

  absl::Status FindData(Bytes offset) {
    data_begin_ = data_end_ = size_;
    if (offset >= size_) return absl::OkStatus();
    const off_t data = ::lseek(image_.get(), offset, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return absl::OkStatus();
    if (data < 0) return OsError(errno, "cannot find the data of the image");
    const off_t hole = ::lseek(image_.get(), data, SEEK_HOLE);
    if (hole < 0) return OsError(errno, "cannot find the data of the image");
    data_begin_ = std::min<Bytes>(data, size_);
    data_end_ = std::min<Bytes>(hole, size_);
    return absl::OkStatus();
  }

  const os::UniqueFd image_;
  const Bytes size_;
  Bytes data_begin_ = 0;  // of the data that was found last
  Bytes data_end_ = 0;
  Bytes ahead_ = 0;  // all before it has been asked for
};

class ImageFiller final : public pool::ImageWriter {
 public:
  ImageFiller(os::UniqueFd image, const pool::CopyProgress& progress)
      : image_(std::move(image)),
        arrival_(progress.arrival),
        kept_(progress.copied_to),
        begun_(kept_) {}

  [[nodiscard]] const std::string& arrival() const override { return arrival_; }
  [[nodiscard]] Bytes kept() const override { return kept_; }

  absl::Status Write(Bytes offset, std::string_view bytes) override {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t written = ::pwrite(image_.get(), bytes.data() + done, bytes.size() - done,
                                       offset + static_cast<Bytes>(done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return AllocationError(errno, "cannot write the image");
      done += static_cast<std::size_t>(written);
    }
    end_ = std::max(end_, offset + static_cast<Bytes>(bytes.size()));
    BeginWriting();
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    if (::fdatasync(image_.get()) != 0) return AllocationError(errno, "cannot sync the image");
    DropFromCache(image_.get(), kept_, end_ - kept_);
    kept_ = std::max(kept_, end_);
    return absl::OkStatus();
  }

 private:
  // While more arrives, the disk is not idle until the sync.
  void BeginWriting() {
    if (end_ - begun_ < kWriteEvery) return;
    (void)::sync_file_range(image_.get(), begun_, end_ - begun_, SYNC_FILE_RANGE_WRITE);
    begun_ = end_;
  }

  const os::UniqueFd image_;
  const std::string arrival_;
  Bytes kept_;
  Bytes begun_;    // before it, all is on its way to the disk
  Bytes end_ = 0;  // of what was written
};

}  // namespace

absl::StatusOr<std::string> IdentityOf(int image_fd) {
  struct statx facts {};
  if (::statx(image_fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &facts) != 0) {
    return OsError(errno, "cannot look at the image");
  }
  return fmt::format("{} {}.{:09}", facts.stx_ino, facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec);
}

std::unique_ptr<ContentReader> NewImageReader(os::UniqueFd image, Bytes size) {
  return std::make_unique<ImageReader>(std::move(image), size);
}

std::unique_ptr<pool::ImageWriter> NewImageWriter(os::UniqueFd image,
                                                  const pool::CopyProgress& progress) {
  return std::make_unique<ImageFiller>(std::move(image), progress);
}

}  // namespace holdfast::file
