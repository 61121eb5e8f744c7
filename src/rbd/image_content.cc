// SPDX-License-Identifier: Apache-2.0
#include "rbd/image_content.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "rbd/image_snapshots.h"
#include "rbd/open_image.h"

namespace holdfast::rbd {
namespace {

// Data is looked for in so much of an image at a time: a multiple of its objects.
constexpr Bytes kWindow = 256 * kMiB;

absl::Status SnapshotIsGone(const std::string& name) {
  return Aborted("snapshot '{}' was removed while it was read", name);
}

bool IsZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

class SnapshotReader final : public ContentReader {
 public:
  SnapshotReader(std::shared_ptr<CephPool> pool, const pool::VolumeRecord& record,
                 const SnapshotName& name)
      : pool_(std::move(pool)),
        name_(record.image_name),
        size_(record.volume.capacity_bytes),
        open_(*pool_, name.image, /*read_only=*/true) {}

  absl::Status Open(const ImageSnapshot& snapshot, std::string image_id) {
    snapshot_ = snapshot.id;
    image_id_ = std::move(image_id);
    if (open_.opened().error == ENOENT) return SnapshotIsGone(name_);
    RETURN_IF_ERROR(open_.opened().status);
    const CallResult set = pool_->Try(fmt::format("read snapshot '{}'", name_), [&] {
      return pool_->library().rbd_snap_set_by_id(open_.image(), snapshot_);
    });
    return set.error == ENOENT ? SnapshotIsGone(name_) : set.status;
  }

  [[nodiscard]] Bytes size() const override { return size_; }

  absl::StatusOr<std::optional<ContentPiece>> Next(Bytes offset) override {
    while (offset < size_) {
      if (offset < window_begin_ || offset >= window_end_) RETURN_IF_ERROR(LookAt(offset));
      const auto found =
          std::ranges::find_if(extents_, [&](const Extent& extent) { return extent.end > offset; });
      if (found == extents_.end()) {
        offset = window_end_;
        continue;
      }
      offset = std::max(offset, found->begin);
      ASSIGN_OR_RETURN(std::string bytes,
                       Read(offset, std::min(kContentPiece, found->end - offset)));
      if (!IsZero(bytes)) return ContentPiece{.offset = offset, .bytes = std::move(bytes)};
      offset += static_cast<Bytes>(bytes.size());
    }
    return std::nullopt;
  }

 private:
  struct Extent {
    Bytes begin = 0;
    Bytes end = 0;
  };

  // Whole objects: librbd's finer search has had faults with parents (tracker.ceph.com 53784).
  absl::Status LookAt(Bytes offset) {
    window_begin_ = offset / kWindow * kWindow;
    window_end_ = std::min(window_begin_ + kWindow, size_);
    extents_.clear();
    const auto note = [](std::uint64_t begin, std::size_t length, int exists, void* noted) {
      const auto at = static_cast<Bytes>(begin);
      if (exists != 0) {
        static_cast<std::deque<Extent>*>(noted)->push_back({at, at + static_cast<Bytes>(length)});
      }
      return 0;
    };
    const CallResult looked = pool_->Try(fmt::format("look for data in '{}'", name_), [&] {
      return pool_->library().rbd_diff_iterate2(
          open_.image(), nullptr, static_cast<std::uint64_t>(window_begin_),
          static_cast<std::uint64_t>(window_end_ - window_begin_), /*include_parent=*/1,
          /*whole_object=*/1, note, &extents_);
    });
    RETURN_IF_ERROR(looked.status);
    std::ranges::sort(extents_, {}, &Extent::begin);
    return RequireThere();
  }

  absl::StatusOr<std::string> Read(Bytes offset, Bytes length) {
    std::string bytes(static_cast<std::size_t>(length), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
      Bytes read = 0;
      const CallResult result = pool_->Try(fmt::format("read snapshot '{}'", name_), [&] {
        read = pool_->library().rbd_read2(open_.image(), static_cast<std::uint64_t>(offset) + done,
                                          bytes.size() - done, bytes.data() + done, 0);
        return static_cast<int>(std::min<Bytes>(read, 0));
      });
      RETURN_IF_ERROR(result.status);
      if (read == 0) return Internal("snapshot '{}' ends at {}", name_, offset);
      done += static_cast<std::size_t>(read);
    }
    RETURN_IF_ERROR(RequireThere());
    return bytes;
  }

  // The cluster may free the data of a removed snapshot, and what is read then is zeros. So it has
  // to be there after each read.
  absl::Status RequireThere() {
    ASSIGN_OR_RETURN(const auto size, ReadImageSize(*pool_, image_id_, snapshot_));
    return size ? absl::OkStatus() : SnapshotIsGone(name_);
  }

  const std::shared_ptr<CephPool> pool_;
  const std::string name_;
  const Bytes size_;
  const OpenImage open_;
  std::uint64_t snapshot_ = 0;
  std::string image_id_;
  Bytes window_begin_ = 0;
  Bytes window_end_ = 0;
  std::deque<Extent> extents_;  // with data, of the window
};

class ImageFiller final : public pool::ImageWriter {
 public:
  ImageFiller(std::shared_ptr<CephPool> pool, const pool::VolumeRecord& record)
      : pool_(std::move(pool)),
        image_(record.image_name),
        arrival_(record.copy->arrival),
        kept_(record.copy->copied_to),
        open_(*pool_, image_, /*read_only=*/false) {}

  absl::Status Opened() const {
    if (open_.opened().error != ENOENT) return open_.opened().status;
    return Aborted("image '{}' is gone", image_);
  }

  [[nodiscard]] const std::string& arrival() const override { return arrival_; }
  [[nodiscard]] Bytes kept() const override { return kept_; }

  absl::Status Write(Bytes offset, std::string_view bytes) override {
    for (std::size_t done = 0; done < bytes.size();) {
      Bytes written = 0;
      const CallResult result = pool_->Try(fmt::format("write image '{}'", image_), [&] {
        written = pool_->library().rbd_write2(
            open_.image(), static_cast<std::uint64_t>(offset) + done, bytes.size() - done,
            bytes.data() + done, LIBRADOS_OP_FLAG_FADVISE_DONTNEED);
        return static_cast<int>(std::min<Bytes>(written, 0));
      });
      RETURN_IF_ERROR(result.status);
      done += static_cast<std::size_t>(written);
    }
    end_ = std::max(end_, offset + static_cast<Bytes>(bytes.size()));
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    RETURN_IF_ERROR(pool_
                        ->Try(fmt::format("flush image '{}'", image_),
                              [&] { return pool_->library().rbd_flush(open_.image()); })
                        .status);
    kept_ = std::max(kept_, end_);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<CephPool> pool_;
  const std::string image_;
  const std::string arrival_;
  Bytes kept_;
  Bytes end_ = 0;  // of what was written
  const OpenImage open_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ContentReader>> OpenSnapshotToRead(
    std::shared_ptr<CephPool> pool, const pool::VolumeRecord& record) {
  const auto name = ParseSnapshotName(record.image_name);
  if (!name) return Internal("'{}' is not a snapshot of an image", record.image_name);
  ASSIGN_OR_RETURN(const auto image_id, ReadImageId(*pool, name->image));
  ASSIGN_OR_RETURN(const auto snapshot, FindImageSnapshot(*pool, *name));
  if (!image_id || !snapshot) return SnapshotIsGone(record.image_name);
  auto reader = std::make_unique<SnapshotReader>(std::move(pool), record, *name);
  RETURN_IF_ERROR(reader->Open(*snapshot, *image_id));
  return reader;
}

absl::StatusOr<std::unique_ptr<pool::ImageWriter>> OpenImageToFill(
    std::shared_ptr<CephPool> pool, const pool::VolumeRecord& record) {
  auto writer = std::make_unique<ImageFiller>(std::move(pool), record);
  RETURN_IF_ERROR(writer->Opened());
  return writer;
}

}  // namespace holdfast::rbd
