// SPDX-License-Identifier: Apache-2.0
#include "pool/undecided.h"

namespace holdfast::pool {
namespace {

absl::StatusOr<bool> AskNowhere(const std::string& group, const VolumeId& decides) {
  return Unavailable(
      "whether it is part of group snapshot '{}' is decided by snapshot '{}' on node '{}', which "
      "the controller asks as soon as it can",
      group, ToSnapshotId(decides), decides.node);
}

}  // namespace

absl::StatusOr<bool> EndUndecided(const Pools& pools, KeyLock& locks, const VolumeId& id,
                                  const AskElsewhere& ask) {
  ASSIGN_OR_RETURN(const auto located, pools.Locate(id.ToString()));
  const auto undecided = located.pool->FindUndecided(id);
  if (absl::IsNotFound(undecided.status())) return false;
  RETURN_IF_ERROR(undecided.status());
  const SnapshotGroup& group = *undecided->group;
  const auto decides = ParseSnapshotId(group.members.front());
  if (!decides) return Internal("group snapshot '{}' has no deciding member", group.id);
  if (*decides == id) {
    RETURN_IF_ERROR(located.pool->EndMember(id, group.id, /*keep=*/false).status());
    return true;
  }
  const auto lock = locks.TryLockInBackground(decides->ToString(), "the reconciler");
  if (!lock) return false;
  const auto there = pools.Locate(decides->ToString());
  const auto is_kept = there.ok() ? there->pool->EndMember(*decides, group.id, /*keep=*/false)
                                  : (ask ? ask : AskNowhere)(group.id, *decides);
  RETURN_IF_ERROR(is_kept.status());
  RETURN_IF_ERROR(located.pool->EndMember(id, group.id, *is_kept).status());
  return true;
}

}  // namespace holdfast::pool
