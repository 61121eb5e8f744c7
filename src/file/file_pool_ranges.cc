// SPDX-License-Identifier: Apache-2.0
// Changed blocks of snapshots in file pools (docs/adr/0031).
#include <algorithm>

#include "core/log.h"
#include "file/digest_changes.h"
#include "file/file_pool.h"
#include "file/image_changes.h"
#include "file/image_content.h"
#include "file/image_copy.h"
#include "file/kept_digests.h"
#include "os/file.h"

namespace holdfast::file {
namespace {

// A thick copy gets blocks of its own in the background.
bool IsThick(const pool::VolumeRecord& record) {
  return record.volume.provisioning == Provisioning::kThick;
}

// Of two images or tables, whose names may be given to others.
std::string VersionOfBoth(const std::string& target, const std::string& base) {
  return target + " and " + base;
}

// The table that was kept of a deleted snapshot, unless it is of an earlier one of that name.
absl::StatusOr<std::optional<DigestTable>> OpenTableOfDeleted(const VerifiedPool& pool,
                                                              const std::string& uuid) {
  const auto directory = os::OpenDirectoryAt(pool.volumes, uuid);
  if (!absl::IsNotFound(directory.status())) return std::nullopt;
  ASSIGN_OR_RETURN(auto kept, OpenKeptTable(pool.root, uuid));
  if (!kept) return std::nullopt;
  ASSIGN_OR_RETURN(const bool is_last, IsOfWhatIsInTrash(*kept, pool.trash));
  if (!is_last) return std::nullopt;
  return kept;
}

}  // namespace

// Every question has a table made: the snapshot may be the base of the next one, and be deleted
// before that.
absl::StatusOr<pool::RangePage> FilePool::FindRanges(const VolumeId& snapshot,
                                                     const std::optional<VolumeId>& base,
                                                     Bytes offset) {
  ASSIGN_OR_RETURN(const OpenSnapshot target, Open(snapshot));
  const Bytes capacity = target.record.volume.capacity_bytes;
  if (!base) {
    RETURN_IF_ERROR(pool::CheckQuestion(target.record, nullptr, offset));
    ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
    (void)OpenDigests(pool, target);
    ASSIGN_OR_RETURN(pool::RangePage page, FindData(target.image.get(), capacity, offset));
    ASSIGN_OR_RETURN(page.version, IdentityOf(target.image.get()));
    return page;
  }
  const auto earlier = Open(*base);
  if (absl::IsNotFound(earlier.status())) {
    return CompareWithDeleted(*base, earlier.status(), target, offset);
  }
  RETURN_IF_ERROR(earlier.status());
  RETURN_IF_ERROR(pool::CheckQuestion(target.record, &earlier->record, offset));
  ASSIGN_OR_RETURN(pool::RangePage page, Compare(*earlier, target, offset));
  ASSIGN_OR_RETURN(const std::string of_base, IdentityOf(earlier->image.get()));
  ASSIGN_OR_RETURN(const std::string of_target, IdentityOf(target.image.get()));
  page.version = VersionOfBoth(of_target, of_base);
  return page;
}

absl::StatusOr<pool::RangePage> FilePool::Compare(const OpenSnapshot& earlier,
                                                  const OpenSnapshot& target, Bytes offset) {
  const Bytes capacity = target.record.volume.capacity_bytes;
  const Bytes common = std::min(capacity, earlier.record.volume.capacity_bytes);
  if (offset >= common) return pool::PageOfGrowth(capacity, offset);
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(pool::RangePage page, CompareImages(pool, earlier, target, common, offset));
  page.capacity = capacity;
  return page;
}

absl::StatusOr<pool::RangePage> FilePool::CompareImages(const VerifiedPool& pool,
                                                        const OpenSnapshot& earlier,
                                                        const OpenSnapshot& target, Bytes common,
                                                        Bytes offset) {
  Comparison images{
      .base_fd = earlier.image.get(), .target_fd = target.image.get(), .capacity = common};
  ASSIGN_OR_RETURN(const bool base_shares, IsUnfinishedCopy(images.base_fd));
  ASSIGN_OR_RETURN(const bool target_shares, IsUnfinishedCopy(images.target_fd));
  images.by_place = base_shares && target_shares;
  images.by_content = !images.by_place || IsThick(target.record) || IsThick(earlier.record);
  ASSIGN_OR_RETURN(auto base_digests, OpenDigests(pool, earlier));
  ASSIGN_OR_RETURN(auto target_digests, OpenDigests(pool, target));
  images.base_digests = base_digests ? &*base_digests : nullptr;
  images.target_digests = target_digests ? &*target_digests : nullptr;
  auto page = FindChanges(images, offset);
  if (!absl::IsDataLoss(page.status())) return page;
  ReplaceIfDamaged(pool, earlier, base_digests);
  ReplaceIfDamaged(pool, target, target_digests);
  images.base_digests = images.target_digests = nullptr;
  return FindChanges(images, offset);
}

// By what was kept of the base. A table that is damaged is none: `deleted` is the answer then.
absl::StatusOr<pool::RangePage> FilePool::CompareWithDeleted(const VolumeId& base,
                                                             const absl::Status& deleted,
                                                             const OpenSnapshot& target,
                                                             Bytes offset) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  ASSIGN_OR_RETURN(auto kept, OpenTableOfDeleted(pool, base.uuid));
  if (!kept) return deleted;
  pool::VolumeRecord earlier;
  earlier.volume.source = target.record.volume.source;
  if (earlier.volume.source) earlier.volume.source->id.uuid = kept->header().volume;
  RETURN_IF_ERROR(pool::CheckQuestion(target.record, &earlier, offset));
  const Bytes capacity = target.record.volume.capacity_bytes;
  const Bytes common = std::min(capacity, kept->header().capacity);
  pool::RangePage page = pool::PageOfGrowth(capacity, offset);
  if (offset < common) {
    auto found = CompareWithTable(pool, *kept, target, common, offset);
    if (kept->is_damaged()) {
      LogWarning("the table kept of deleted snapshot {} is damaged", base.uuid);
      return deleted;
    }
    RETURN_IF_ERROR(found.status());
    page = *std::move(found);
    page.capacity = capacity;
  }
  ASSIGN_OR_RETURN(const std::string of_target, IdentityOf(target.image.get()));
  page.version = VersionOfBoth(of_target, kept->header().image);
  return page;
}

absl::StatusOr<pool::RangePage> FilePool::CompareWithTable(const VerifiedPool& pool,
                                                           DigestTable& base,
                                                           const OpenSnapshot& target, Bytes common,
                                                           Bytes offset) {
  ASSIGN_OR_RETURN(auto digests, OpenDigests(pool, target));
  DigestComparison compared{.base = &base,
                            .target_fd = target.image.get(),
                            .target = digests ? &*digests : nullptr,
                            .common = common};
  auto page = FindChangesByDigests(compared, offset);
  if (!absl::IsDataLoss(page.status()) || base.is_damaged()) return page;
  ReplaceIfDamaged(pool, target, digests);
  compared.target = nullptr;
  return FindChangesByDigests(compared, offset);
}

}  // namespace holdfast::file
