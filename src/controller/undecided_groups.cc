// SPDX-License-Identifier: Apache-2.0
#include "controller/undecided_groups.h"

#include "controller/group_places.h"
#include "core/log.h"
#include "core/start_thread.h"

namespace holdfast::controller {
namespace {

constexpr std::chrono::seconds kTime{10};  // for one of them

}  // namespace

UndecidedGroups::~UndecidedGroups() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

absl::Status UndecidedGroups::Start() {
  ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return absl::OkStatus();
}

void UndecidedGroups::Run() {
  MutexLock lock(mutex_);
  while (!changed_.WaitFor(lock, interval_,
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; })) {
    lock.Unlock();
    Round();
    lock.Lock();
  }
}

void UndecidedGroups::Round() {
  for (const link::NodeView& view : hub_.Nodes()) {
    for (const link::v1::Undecided& undecided : view.pools->undecided()) {
      const absl::Status ended = End(view.name, undecided);
      if (ended.ok()) continue;
      LogWarning("snapshot '{}' of group '{}' is undecided: {}", undecided.member(),
                 undecided.group(), MessageOf(ended));
    }
  }
}

absl::StatusOr<bool> UndecidedGroups::IsKept(const std::string& group, const VolumeId& decides) {
  GroupPlaces places(own_, &hub_, std::chrono::steady_clock::now() + kTime);
  ASSIGN_OR_RETURN(const auto kept, places.SiteOf(decides).End(group, {decides}, false));
  return !kept.empty();
}

// A node speaks for its own members only.
absl::Status UndecidedGroups::End(const std::string& node, const link::v1::Undecided& undecided) {
  const auto member = ParseSnapshotId(undecided.member());
  const auto decides = ParseSnapshotId(undecided.decides());
  if (!member || !decides || member->node != node) return absl::OkStatus();
  if (!decides->node.empty() && hub_.Nodes({decides->node}).empty()) return absl::OkStatus();
  const auto lock = volume_locks_.TryLockInBackground(undecided.group(), "undecided snapshots");
  if (!lock) return absl::OkStatus();
  GroupPlaces places(own_, &hub_, std::chrono::steady_clock::now() + kTime);
  const std::string& group = undecided.group();
  ASSIGN_OR_RETURN(const auto kept, places.SiteOf(*decides).End(group, {*decides}, false));
  ASSIGN_OR_RETURN(const auto there, places.SiteOf(*member).End(group, {*member}, !kept.empty()));
  if (!there.empty()) places.NoteNames({.id = group, .members = {undecided.member()}});
  LogInfo("snapshot '{}' of group '{}' is {}", undecided.member(), group,
          there.empty() ? "removed: the group was not completed" : "kept: the group is complete");
  return absl::OkStatus();
}

}  // namespace holdfast::controller
