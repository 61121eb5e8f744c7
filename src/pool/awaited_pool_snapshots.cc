// SPDX-License-Identifier: Apache-2.0
// The calls about snapshots and contents.
#include "pool/awaited_pool.h"

#include "pool/changed_ranges.h"

namespace holdfast::pool {

absl::Status AwaitedPool::DeleteSnapshot(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->DeleteSnapshot(id);
}

absl::StatusOr<std::unique_ptr<MemberCut>> AwaitedPool::BeginCut(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->BeginCut(spec);
}

absl::StatusOr<bool> AwaitedPool::EndMember(const VolumeId& id, const std::string& group,
                                            bool keep) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->EndMember(id, group, keep);
}

absl::StatusOr<std::vector<Volume>> AwaitedPool::MembersOf(const std::string& group) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->MembersOf(group);
}

std::vector<Volume> AwaitedPool::Undecided() {
  const auto pool = Opened();
  return pool.ok() ? (*pool)->Undecided() : std::vector<Volume>();
}

absl::StatusOr<std::vector<UnfinishedVolume>> AwaitedPool::ListUnfinished() {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->ListUnfinished();
}

absl::StatusOr<SnapshotUse> AwaitedPool::GetSnapshotUse(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->GetSnapshotUse(id);
}

absl::StatusOr<Content> AwaitedPool::DescribeContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->DescribeContent(id);
}

absl::StatusOr<std::unique_ptr<ContentReader>> AwaitedPool::ReadContent(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->ReadContent(id);
}

absl::Status AwaitedPool::KeepHeld(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->KeepHeld(id);
}

absl::StatusOr<RangePage> AwaitedPool::FindRanges(const VolumeId& snapshot,
                                                  const std::optional<VolumeId>& base,
                                                  Bytes offset) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->FindRanges(snapshot, base, offset);
}

absl::StatusOr<std::unique_ptr<ImageWriter>> AwaitedPool::WriteContent(const VolumeId& id,
                                                                       const std::string& version) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->WriteContent(id, version);
}

absl::Status AwaitedPool::NoteArrived(const VolumeId& id, const std::string& arrival, Bytes to) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->NoteArrived(id, arrival, to);
}

absl::Status AwaitedPool::FinishArrival(const VolumeId& id, const std::string& arrival) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->FinishArrival(id, arrival);
}

absl::StatusOr<Volume> AwaitedPool::GetSnapshot(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->GetSnapshot(id);
}

absl::StatusOr<std::vector<Volume>> AwaitedPool::ListSnapshots(const std::string& after_uuid,
                                                               std::size_t limit) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->ListSnapshots(after_uuid, limit);
}

}  // namespace holdfast::pool
