// SPDX-License-Identifier: Apache-2.0
#include "rbd/image_changes.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <string>

#include "rbd/image_snapshots.h"
#include "rbd/open_image.h"

namespace holdfast::rbd {
namespace {

using Clock = std::chrono::steady_clock;
using pool::Range;

// One question to librbd: a multiple of the image's objects.
constexpr Bytes kDiffWindow = 256 * kMiB;
// Of a page, which ends with the window that reaches one of them.
constexpr std::size_t kEnoughRanges = 8192;
constexpr std::chrono::seconds kLongestPage{1};

absl::Status IsGone(const std::string& name) {
  return Aborted("snapshot '{}' was removed while its blocks were looked for", name);
}

struct FoundSnapshot {
  SnapshotName name;
  std::string image_id;
  std::uint64_t id = 0;
};

absl::StatusOr<FoundSnapshot> Find(const CephPool& pool, const pool::VolumeRecord& record) {
  const auto name = ParseSnapshotName(record.image_name);
  if (!name) return Internal("'{}' is not a snapshot of an image", record.image_name);
  ASSIGN_OR_RETURN(const auto image_id, ReadImageId(pool, name->image));
  ASSIGN_OR_RETURN(const auto snapshot, FindImageSnapshot(pool, *name));
  if (!image_id || !snapshot) return IsGone(record.image_name);
  return FoundSnapshot{.name = *name, .image_id = *image_id, .id = snapshot->id};
}

// The data of a removed snapshot may be freed, and looks then as if it had never been.
absl::Status RequireThere(const CephPool& pool, const FoundSnapshot& snapshot) {
  ASSIGN_OR_RETURN(const auto size, ReadImageSize(pool, snapshot.image_id, snapshot.id));
  return size ? absl::OkStatus() : IsGone(snapshot.name.ToString());
}

// How librbd is asked.
struct Question {
  const FoundSnapshot& target;
  const FoundSnapshot* base = nullptr;  // null: for data
};

int Note(std::uint64_t begin, std::size_t length, int exists, void* noted) {
  (void)exists;  // what was discarded has changed as well, and is no data
  const auto at = static_cast<Bytes>(begin);
  static_cast<std::deque<Range>*>(noted)->push_back({at, at + static_cast<Bytes>(length)});
  return 0;
}

int NoteData(std::uint64_t begin, std::size_t length, int exists, void* noted) {
  return exists == 0 ? 0 : Note(begin, length, exists, noted);
}

// Data is looked for in whole objects, of the parents as well: the finer search has had faults with
// those (tracker.ceph.com 53784). What has changed in an image itself is asked for exactly.
absl::Status LookAt(const CephPool& pool, rbd_image_t image, const Question& question,
                    const Range& window, pool::Ranges& ranges) {
  std::deque<Range> found;
  const bool data = question.base == nullptr;
  const char* const from = data ? nullptr : question.base->name.snapshot.c_str();
  const CallResult looked =
      pool.Try(fmt::format("look for blocks of '{}'", question.target.name.ToString()), [&] {
        return pool.library().rbd_diff_iterate2(
            image, from, static_cast<std::uint64_t>(window.begin),
            static_cast<std::uint64_t>(window.end - window.begin), /*include_parent=*/1,
            /*whole_object=*/data ? 1 : 0, data ? NoteData : Note, &found);
      });
  if (looked.error == ENOENT) return IsGone(question.target.name.ToString());
  RETURN_IF_ERROR(looked.status);
  std::ranges::sort(found, {}, &Range::begin);
  for (const Range& range : found) Append(ranges, range);
  return absl::OkStatus();
}

absl::StatusOr<pool::RangePage> FindPage(const CephPool& pool, const Question& question,
                                         Bytes capacity, Bytes offset) {
  const FoundSnapshot& target = question.target;
  const OpenImage open(pool, target.name.image, /*read_only=*/true);
  if (open.opened().error == ENOENT) return IsGone(target.name.ToString());
  RETURN_IF_ERROR(open.opened().status);
  const CallResult set = pool.Try(fmt::format("read snapshot '{}'", target.name.ToString()), [&] {
    return pool.library().rbd_snap_set_by_id(open.image(), target.id);
  });
  if (set.error == ENOENT) return IsGone(target.name.ToString());
  RETURN_IF_ERROR(set.status);
  pool::RangePage page{.capacity = capacity, .ranges = {}, .next = offset};
  const auto until = Clock::now() + kLongestPage;
  do {
    const Bytes begin = AlignDown(page.next, kDiffWindow);
    const Range window{begin, std::min(begin + kDiffWindow, capacity)};
    RETURN_IF_ERROR(LookAt(pool, open.image(), question, window, page.ranges));
    page.next = window.end;
  } while (page.next < capacity && page.ranges.size() < kEnoughRanges && Clock::now() < until);
  RETURN_IF_ERROR(RequireThere(pool, target));
  if (question.base != nullptr) RETURN_IF_ERROR(RequireThere(pool, *question.base));
  page.ranges = CutTo(page.ranges, {offset, page.next});
  return page;
}

}  // namespace

absl::StatusOr<pool::RangePage> FindData(const CephPool& pool, const pool::VolumeRecord& target,
                                         Bytes offset) {
  const Bytes capacity = target.volume.capacity_bytes;
  if (offset == capacity) return pool::PageOfGrowth(capacity, offset);
  ASSIGN_OR_RETURN(const FoundSnapshot found, Find(pool, target));
  return FindPage(pool, {.target = found}, capacity, offset);
}

absl::StatusOr<pool::RangePage> FindChanges(const CephPool& pool, const pool::VolumeRecord& base,
                                            const pool::VolumeRecord& target, Bytes offset) {
  ASSIGN_OR_RETURN(const FoundSnapshot earlier, Find(pool, base));
  ASSIGN_OR_RETURN(const FoundSnapshot later, Find(pool, target));
  if (earlier.image_id != later.image_id) {
    return FailedPrecondition(
        "'{}' and '{}' are snapshots of two images, of which Ceph does not know what differs; read "
        "all of the snapshot",
        earlier.name.ToString(), later.name.ToString());
  }
  if (earlier.id > later.id) {
    return InvalidArgument("base_snapshot_id is the later one of the two snapshots");
  }
  const Bytes capacity = target.volume.capacity_bytes;
  const Bytes common = std::min(capacity, base.volume.capacity_bytes);
  if (offset >= common) return pool::PageOfGrowth(capacity, offset);
  pool::RangePage page{.capacity = capacity, .ranges = {}, .next = common};
  if (earlier.id == later.id) return page;
  ASSIGN_OR_RETURN(page, FindPage(pool, {.target = later, .base = &earlier}, common, offset));
  page.capacity = capacity;
  return page;
}

// By whole objects: the object map of the image says which were written to since, and a client
// notes there what it is about to write before it writes.
absl::StatusOr<bool> IsChangedSince(const CephPool& pool, const SnapshotName& name) {
  const OpenImage open(pool, name.image, /*read_only=*/true);
  if (open.opened().error == ENOENT) return IsGone(name.ToString());
  RETURN_IF_ERROR(open.opened().status);
  const CephLibrary& library = pool.library();
  std::uint64_t size = 0;
  RETURN_IF_ERROR(
      pool.Try("read an image's size", [&] { return library.rbd_get_size(open.image(), &size); })
          .status);
  bool changed = false;
  const auto note = [](std::uint64_t, std::size_t, int, void* noted) {
    *static_cast<bool*>(noted) = true;
    return 0;
  };
  const CallResult looked =
      pool.Try(fmt::format("look for changes since snapshot '{}'", name.ToString()), [&] {
        return library.rbd_diff_iterate2(open.image(), name.snapshot.c_str(), 0, size,
                                         /*include_parent=*/1, /*whole_object=*/1, note, &changed);
      });
  if (looked.error == ENOENT) return IsGone(name.ToString());
  RETURN_IF_ERROR(looked.status);
  return changed;
}

}  // namespace holdfast::rbd
