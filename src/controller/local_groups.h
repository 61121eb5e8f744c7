// SPDX-License-Identifier: Apache-2.0
// The pools of this process as a site of group snapshots.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "controller/group_site.h"
#include "core/key_lock.h"
#include "core/mutex.h"
#include "pool/pools.h"

namespace holdfast::controller {

// Thread-safe. What is between two steps of a group is kept here, with the locks of its volumes and
// snapshots; a thread ends an attempt that its coordinator has given up. The writers go on before
// that (CutOptions::longest_freeze).
class LocalGroups final : public GroupSite {
 public:
  struct Times {
    std::chrono::milliseconds cutting{15'000};    // from Hold to Seal
    std::chrono::milliseconds undecided{60'000};  // from Seal to End
  };
  // Both outlive it.
  LocalGroups(const pool::Pools& pools, KeyLock& volume_locks, Times times)
      : pools_(pools), volume_locks_(volume_locks), times_(times) {}
  LocalGroups(const pool::Pools& pools, KeyLock& volume_locks)
      : LocalGroups(pools, volume_locks, Times()) {}
  LocalGroups(const LocalGroups&) = delete;
  LocalGroups& operator=(const LocalGroups&) = delete;
  ~LocalGroups() override;

  absl::StatusOr<std::vector<Unheld>> Hold(const GroupPart& part) override;
  absl::Status Cut(const GroupPart& part) override;
  absl::Status Seal(const GroupPart& part) override;
  absl::StatusOr<Ids> End(const std::string& group, const Ids& members, bool keep) override;
  absl::Status Delete(const std::string& group, const Ids& members) override;
  absl::StatusOr<std::vector<FoundMember>> Find(const std::string& group) override;

  struct Answers {
    std::vector<FoundMember> members;
    std::map<std::string, absl::Status> unanswered;  // the pools that could not be asked, by name
  };
  // As Find, but a pool that cannot be asked does not keep the others from being asked. Pools are
  // accessed with the call's credentials.
  [[nodiscard]] Answers Ask(const std::string& group, const Secrets& secrets) const;

  // The id that the group's snapshot of the volume has or would have. Errors as Pools::Locate, but
  // UNAVAILABLE for a pool that is not here; and as Pool::WithCredentials.
  [[nodiscard]] absl::StatusOr<VolumeId> MemberOf(const std::string& group, const VolumeId& source,
                                                  const Secrets& secrets) const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Step { kNone, kHeld, kCut, kSealed };
  struct Session;
  using SessionPtr = std::shared_ptr<Session>;

  absl::Status HoldAll(Session& session, const GroupPart& part, std::vector<Unheld>& unheld);
  absl::Status Begin(Session& session, const GroupPart& part, std::vector<Unheld>& unheld);
  absl::Status BeginMember(Session& session, const GroupPart& part, const VolumeId& source,
                           const CutOptions& cut);
  absl::StatusOr<bool> BeginHold(Session& session, const HeldVolume& held, const CutOptions& cut);
  static absl::Status ForEachMember(Session& session,
                                    const std::function<absl::Status(pool::MemberCut&)>& step);
  absl::StatusOr<SessionPtr> FindSession(const GroupPart& part);
  static absl::Status NotUnderWay(const std::string& group);
  absl::StatusOr<Ids> EndSealed(const SessionPtr& session, const Ids& members, bool keep);
  void EndOverdue(const SessionPtr& session);
  // After an error: removes what was made. Returns the cause, or why something is left.
  absl::Status GiveUp(const SessionPtr& session, const absl::Status& cause);
  void Close(const SessionPtr& session);
  absl::StatusOr<Ids> EndMembers(const std::string& group, const Ids& members, bool keep) const;
  absl::StatusOr<std::vector<KeyLock::Guard>> LockAll(const Ids& ids) const;
  absl::Status StartWatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Watch();

  const pool::Pools& pools_;
  KeyLock& volume_locks_;
  const Times times_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, SessionPtr> sessions_ ABSL_GUARDED_BY(mutex_);  // by group
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::controller
