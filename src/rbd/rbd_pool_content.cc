// SPDX-License-Identifier: Apache-2.0
// Snapshots whose bytes go to other pools, and volumes whose bytes come from there.
#include "rbd/image_changes.h"
#include "rbd/image_content.h"
#include "rbd/rbd_pool.h"
#include "rbd/rbd_volumes.h"

namespace holdfast::rbd {
namespace {

// The controller may note at the same moment that a call has asked for the volume.
template <typename Note>
absl::Status Repeated(const Note& note) {
  constexpr int kAttempts = 3;
  absl::Status noted;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    noted = note();
    if (!absl::IsAborted(noted)) break;
  }
  return noted;
}

}  // namespace

// What the data of a snapshot takes is not known without a look at each of its objects.
absl::StatusOr<Content> RbdPool::DescribeContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record, Call(*this, *ceph).volumes.GetContent(id));
  const Volume& snapshot = record.volume;
  return Content{.capacity_bytes = snapshot.capacity_bytes,
                 .data_bytes = snapshot.capacity_bytes,
                 .sector_size = record.sector_size,
                 .access_type = snapshot.access_type,
                 .filesystem = snapshot.filesystem,
                 .inherited_uuids = snapshot.inherited_uuids,
                 .version = record.image_id};
}

absl::StatusOr<std::unique_ptr<ContentReader>> RbdPool::ReadContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record, Call(*this, *ceph).volumes.GetContent(id));
  return OpenSnapshotToRead(ceph, record);
}

absl::Status RbdPool::KeepHeld(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Call(*this, *ceph).volumes.KeepHeld(id);
}

absl::StatusOr<pool::RangePage> RbdPool::FindRanges(const VolumeId& snapshot,
                                                    const std::optional<VolumeId>& base,
                                                    Bytes offset) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  Call call(*this, *ceph);
  ASSIGN_OR_RETURN(const pool::VolumeRecord target, call.volumes.GetContent(snapshot));
  if (!base) {
    RETURN_IF_ERROR(pool::CheckQuestion(target, nullptr, offset));
    ASSIGN_OR_RETURN(pool::RangePage page, FindData(*ceph, target, offset));
    page.version = target.image_id;
    return page;
  }
  ASSIGN_OR_RETURN(const pool::VolumeRecord earlier, call.volumes.GetContent(*base));
  RETURN_IF_ERROR(pool::CheckQuestion(target, &earlier, offset));
  ASSIGN_OR_RETURN(pool::RangePage page, FindChanges(*ceph, earlier, target, offset));
  page.version = target.image_id + " and " + earlier.image_id;
  return page;
}

absl::StatusOr<std::unique_ptr<pool::ImageWriter>> RbdPool::WriteContent(
    const VolumeId& id, const std::string& version) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const pool::VolumeRecord record,
                   Call(*this, *ceph).volumes.GetArriving(id, version));
  return OpenImageToFill(ceph, record);
}

absl::Status RbdPool::NoteArrived(const VolumeId& id, const std::string& arrival, Bytes to) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Repeated([&] { return Call(*this, *ceph).volumes.NoteArrived(id, arrival, to); });
}

absl::Status RbdPool::FinishArrival(const VolumeId& id, const std::string& arrival) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  return Repeated([&] { return Call(*this, *ceph).volumes.FinishArrival(id, arrival); });
}

}  // namespace holdfast::rbd
