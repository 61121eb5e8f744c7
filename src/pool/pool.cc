// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.h"

#include <algorithm>

#include "pool/changed_ranges.h"

namespace holdfast::pool {
namespace {

absl::Status CannotExchange(const PoolInfo& info) {
  return FailedPrecondition(
      "pool '{}' (kind {}) exchanges no contents with other pools; copy the data with a pod",
      info.name, info.kind);
}

}  // namespace

// The CO gives no name with a control character.
VolumeId Pool::IdForHold(const ContentSource& source, const std::string& name) const {
  return IdForSnapshotName(fmt::format("\x01{} {}", source.ToString(), name));
}

VolumeId Pool::IdForSpec(const VolumeSpec& spec) const {
  if (spec.role == VolumeRole::kVolume) return IdForName(spec.name);
  return spec.hold ? IdForHold(*spec.source, spec.name) : IdForSnapshotName(spec.name);
}
absl::StatusOr<Volume> Pool::RestoreTrash(const TrashId& id) {
  return NotFound("pool '{}' (kind {}) keeps nothing that is deleted, so there is no '{}'",
                  info().name, info().kind, id.ToString());
}

absl::Status Pool::PurgeTrash(const TrashId& id) { return Pool::RestoreTrash(id).status(); }

absl::StatusOr<std::unique_ptr<MemberCut>> Pool::BeginCut(const VolumeSpec&) {
  return FailedPrecondition(
      "pool '{}' (kind {}) cannot cut several volumes at one instant, so they cannot be in a group "
      "snapshot; snapshots of single volumes can be made",
      info().name, info().kind);
}

absl::StatusOr<std::unique_ptr<MemberCut>> Pool::BeginHold(const VolumeId&, const std::string&,
                                                           const CutOptions&) {
  return nullptr;
}

absl::StatusOr<bool> Pool::EndMember(const VolumeId&, const std::string&, bool) { return false; }

absl::StatusOr<Volume> Pool::FindUndecided(const VolumeId& id) {
  const std::vector<Volume> undecided = Undecided();
  const auto found = std::ranges::find(undecided, id, &Volume::id);
  if (found != undecided.end()) return *found;
  return NotFound("there is no undecided snapshot '{}'", ToSnapshotId(id));
}

absl::StatusOr<Bytes> Pool::AllocatedTo(const VolumeId& id) {
  return FailedPrecondition("pool '{}' does not count what '{}' has allocated", info().name,
                            id.ToString());
}

absl::StatusOr<SnapshotUse> Pool::GetSnapshotUse(const VolumeId&) {
  return FailedPrecondition("pool '{}' (kind {}) does not know what snapshots take", info().name,
                            info().kind);
}

absl::StatusOr<Content> Pool::DescribeContent(const VolumeId&) { return CannotExchange(info()); }

absl::StatusOr<std::unique_ptr<ContentReader>> Pool::ReadContent(const VolumeId&) {
  return CannotExchange(info());
}

absl::Status Pool::KeepHeld(const VolumeId&) { return CannotExchange(info()); }

absl::StatusOr<RangePage> Pool::FindRanges(const VolumeId&, const std::optional<VolumeId>&, Bytes) {
  return FailedPrecondition("pool '{}' (kind {}) does not know which blocks have changed",
                            info().name, info().kind);
}

absl::StatusOr<std::unique_ptr<ImageWriter>> Pool::WriteContent(const VolumeId&,
                                                                const std::string&) {
  return CannotExchange(info());
}

absl::Status Pool::NoteArrived(const VolumeId&, const std::string&, Bytes) {
  return CannotExchange(info());
}

absl::Status Pool::FinishArrival(const VolumeId&, const std::string&) {
  return CannotExchange(info());
}

}  // namespace holdfast::pool
