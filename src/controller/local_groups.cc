// SPDX-License-Identifier: Apache-2.0
#include "controller/local_groups.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "controller/group_request.h"
#include "controller/snapshot_messages.h"
#include "core/log.h"
#include "core/start_thread.h"

namespace holdfast::controller {
namespace {

constexpr char kOperation[] = "CreateVolumeGroupSnapshot";

absl::StatusOr<pool::Pools::Located> LocateIn(const pool::Pools& pools, const VolumeId& id) {
  auto located = pools.Locate(id.ToString());
  if (located.ok() || absl::IsNotFound(located.status())) return located;
  return WithCode(located.status(), absl::StatusCode::kUnavailable);
}

// For several at the same time: in Ceph each waits for a round of the monitors, and those that do
// so together wait for the same one. The first error; after that no other one is begun with.
absl::Status ForEachOf(std::size_t count, const std::function<absl::Status(std::size_t)>& step) {
  constexpr std::size_t kAtOnce = 8;
  std::atomic<std::size_t> next{0};
  Mutex mutex;
  absl::Status first;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      const absl::Status taken = step(i);
      if (taken.ok()) continue;
      next = count;
      const MutexLock lock(mutex);
      first.Update(taken);
    }
  };
  std::vector<std::thread> helpers;
  while (helpers.size() + 1 < std::min(kAtOnce, count)) {
    auto helper = StartThread(work);
    if (!helper.ok()) break;  // this thread does it alone
    helpers.push_back(*std::move(helper));
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  return first;
}

}  // namespace

// An attempt under way.
struct LocalGroups::Session {
  struct Member {
    VolumeId source;
    std::optional<VolumeId> id;            // of the snapshot; none if the volume is only held
    std::unique_ptr<pool::MemberCut> cut;  // null when it is sealed
    bool ended = false;
  };
  Session(std::string group_id, std::string attempt_id, Clock::time_point end)
      : group(std::move(group_id)), attempt(std::move(attempt_id)), until(end) {}

  const std::string group;
  const std::string attempt;
  std::atomic<Clock::time_point> until;
  Mutex mutex;  // held during a step, which uses the rest
  Step step = Step::kNone;
  std::vector<KeyLock::Guard> source_locks;
  std::vector<KeyLock::Guard> member_locks;
  std::vector<Member> members;
};

LocalGroups::~LocalGroups() {
  std::thread watch;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    watch = std::move(watch_);
    changed_.NotifyAll();
  }
  if (watch.joinable()) watch.join();
}

absl::StatusOr<VolumeId> LocalGroups::MemberOf(const std::string& group, const VolumeId& source,
                                               const Secrets& secrets) const {
  ASSIGN_OR_RETURN(const auto located, LocateIn(pools_, source));
  ASSIGN_OR_RETURN(pool::Pool* const pool,
                   pool::AccessPool(*located.pool, secrets, pool::Credentials::kRequired));
  return pool->IdForSnapshotName(GroupMemberName(group, source.uuid));
}

absl::StatusOr<std::vector<GroupSite::Unheld>> LocalGroups::Hold(const GroupPart& part) {
  const auto session =
      std::make_shared<Session>(part.group.id, part.attempt, Clock::now() + times_.cutting);
  const MutexLock step(session->mutex);
  {
    const MutexLock lock(mutex_);
    RETURN_IF_ERROR(StartWatch());
    if (!sessions_.emplace(part.group.id, session).second) {
      return Aborted("group snapshot '{}' is being cut; try again", part.group.id);
    }
    changed_.NotifyAll();
  }
  std::vector<Unheld> unheld;
  if (const absl::Status held = HoldAll(*session, part, unheld); !held.ok()) {
    return GiveUp(session, held);
  }
  if (part.sources.empty() && unheld.size() == part.held.size()) {
    GiveUp(session, absl::OkStatus()).IgnoreError();
  } else {
    session->step = Step::kHeld;
  }
  return unheld;
}

absl::Status LocalGroups::HoldAll(Session& session, const GroupPart& part,
                                  std::vector<Unheld>& unheld) {
  RETURN_IF_ERROR(Begin(session, part, unheld));
  for (const Session::Member& member : session.members) {
    auto held = member.cut->Hold();
    RETURN_IF_ERROR(Annotate(held.status(), fmt::format("volume '{}'", member.source.ToString())));
    if (held->held) continue;
    unheld.push_back({.volume = member.source,
                      .node = std::move(held->node),
                      .device = std::move(held->device)});
  }
  return absl::OkStatus();
}

// Everything that takes time before the writers are held back.
absl::Status LocalGroups::Begin(Session& session, const GroupPart& part,
                                std::vector<Unheld>& unheld) {
  ASSIGN_OR_RETURN(const CutOptions cut, ParseGroupParameters(part.parameters));
  Ids ids;
  Ids volumes = part.sources;
  for (const VolumeId& source : part.sources) {
    ASSIGN_OR_RETURN(const VolumeId id, MemberOf(part.group.id, source, part.secrets));
    ids.push_back(id);
  }
  for (const HeldVolume& held : part.held) volumes.push_back(held.volume);
  ASSIGN_OR_RETURN(session.member_locks, LockAll(ids));
  ASSIGN_OR_RETURN(session.source_locks, LockAll(volumes));
  for (const VolumeId& source : part.sources) {
    RETURN_IF_ERROR(Annotate(BeginMember(session, part, source, cut),
                             fmt::format("volume '{}'", source.ToString())));
  }
  for (const HeldVolume& held : part.held) {
    const auto begun = BeginHold(session, held, cut);
    RETURN_IF_ERROR(Annotate(begun.status(), fmt::format("volume '{}'", held.volume.ToString())));
    if (!*begun) unheld.push_back({.volume = held.volume});
  }
  return ForEachMember(session, [](pool::MemberCut& member) { return member.Prepare(); });
}

// False if the volume is not in this process' hands.
absl::StatusOr<bool> LocalGroups::BeginHold(Session& session, const HeldVolume& held,
                                            const CutOptions& cut) {
  const auto located = pools_.Locate(held.volume.ToString());
  if (!located.ok()) return false;
  ASSIGN_OR_RETURN(auto begun, located->pool->BeginHold(held.volume, held.device, cut));
  if (begun == nullptr) return false;
  session.members.push_back({.source = held.volume, .id = std::nullopt, .cut = std::move(begun)});
  return true;
}

absl::Status LocalGroups::ForEachMember(Session& session,
                                        const std::function<absl::Status(pool::MemberCut&)>& step) {
  return ForEachOf(session.members.size(),
                   [&](std::size_t i) { return step(*session.members[i].cut); });
}

absl::Status LocalGroups::BeginMember(Session& session, const GroupPart& part,
                                      const VolumeId& source, const CutOptions& cut) {
  ASSIGN_OR_RETURN(const auto located, LocateIn(pools_, source));
  ASSIGN_OR_RETURN(pool::Pool* const pool,
                   pool::AccessPool(*located.pool, part.secrets, pool::Credentials::kRequired));
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = GroupMemberName(part.group.id, source.uuid);
  spec.source = ContentSource{VolumeRole::kVolume, source};
  spec.group = part.group;
  spec.parameters = part.parameters;
  spec.cut = cut;
  ASSIGN_OR_RETURN(auto member, pool->BeginCut(spec));
  session.members.push_back(
      {.source = source, .id = pool->IdForSnapshotName(spec.name), .cut = std::move(member)});
  return absl::OkStatus();
}

absl::Status LocalGroups::Cut(const GroupPart& part) {
  ASSIGN_OR_RETURN(const SessionPtr session, FindSession(part));
  const MutexLock step(session->mutex);
  if (session->step != Step::kHeld) return NotUnderWay(part.group.id);
  const absl::Status cut =
      ForEachMember(*session, [](pool::MemberCut& member) { return member.Cut(); });
  if (!cut.ok()) return GiveUp(session, cut);
  session->step = Step::kCut;
  return absl::OkStatus();
}

absl::Status LocalGroups::Seal(const GroupPart& part) {
  ASSIGN_OR_RETURN(const SessionPtr session, FindSession(part));
  const MutexLock step(session->mutex);
  if (session->step != Step::kCut) return NotUnderWay(part.group.id);
  absl::Status result;
  for (const auto& member : session->members) result.Update(member.cut->Release());
  for (const auto& member : session->members) {
    if (result.ok()) result = member.cut->Seal();
  }
  if (!result.ok()) return GiveUp(session, result);
  session->source_locks.clear();
  std::erase_if(session->members, [](const Session::Member& member) { return !member.id; });
  for (auto& member : session->members) member.cut.reset();
  session->step = Step::kSealed;
  session->until = Clock::now() + times_.undecided;
  if (session->members.empty()) Close(session);
  return absl::OkStatus();
}

absl::Status LocalGroups::NotUnderWay(const std::string& group) {
  return Aborted("group snapshot '{}' is not being cut any more; try again", group);
}

absl::StatusOr<LocalGroups::SessionPtr> LocalGroups::FindSession(const GroupPart& part) {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(part.group.id);
  if (found != sessions_.end() && found->second->attempt == part.attempt) return found->second;
  return NotUnderWay(part.group.id);
}

// The writers first.
absl::Status LocalGroups::GiveUp(const SessionPtr& session, const absl::Status& cause) {
  for (const auto& member : session->members) member.cut->Release().IgnoreError();
  absl::Status result = cause;
  for (const auto& member : session->members) {
    const absl::Status undone = member.cut->Undo(cause);
    if (absl::IsUnavailable(undone)) result = undone;
  }
  Close(session);
  return result;
}

void LocalGroups::Close(const SessionPtr& session) {
  session->members.clear();
  session->source_locks.clear();
  session->member_locks.clear();
  session->step = Step::kNone;
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(session->group);
  if (found != sessions_.end() && found->second == session) sessions_.erase(found);
}

absl::StatusOr<LocalGroups::Ids> LocalGroups::End(const std::string& group, const Ids& members,
                                                  bool keep) {
  SessionPtr session;
  {
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(group);
    if (found != sessions_.end()) session = found->second;
  }
  if (session != nullptr) {
    const MutexLock step(session->mutex);
    if (session->step == Step::kSealed) return EndSealed(session, members, keep);
    if (keep) return Aborted("group snapshot '{}' is being cut; try again", group);
    GiveUp(session, NotUnderWay(group)).IgnoreError();  // what is left is looked for below
  }
  ASSIGN_OR_RETURN(const auto locks, LockAll(members));
  return EndMembers(group, members, keep);
}

// The session has the locks of its members.
absl::StatusOr<LocalGroups::Ids> LocalGroups::EndSealed(const SessionPtr& session,
                                                        const Ids& members, bool keep) {
  const auto is_sealed = [&](const VolumeId& id) {
    return std::ranges::any_of(session->members,
                               [&](const Session::Member& member) { return member.id == id; });
  };
  Ids others;
  std::ranges::copy_if(members, std::back_inserter(others),
                       [&](const VolumeId& id) { return !is_sealed(id); });
  ASSIGN_OR_RETURN(const auto locks, LockAll(others));
  ASSIGN_OR_RETURN(Ids ended, EndMembers(session->group, members, keep));
  for (Session::Member& member : session->members) {
    if (std::ranges::find(members, *member.id) != members.end()) member.ended = true;
  }
  if (std::ranges::all_of(session->members, &Session::Member::ended)) Close(session);
  return ended;
}

absl::StatusOr<LocalGroups::Ids> LocalGroups::EndMembers(const std::string& group,
                                                         const Ids& members, bool keep) const {
  Ids there;
  for (const VolumeId& id : members) {
    ASSIGN_OR_RETURN(const auto located, LocateIn(pools_, id));
    ASSIGN_OR_RETURN(const bool is_there, located.pool->EndMember(id, group, keep));
    if (is_there) there.push_back(id);
  }
  return there;
}

// A deletion that failed may have left something of those that are not there any more.
absl::Status LocalGroups::Delete(const std::string& group, const Ids& members) {
  ASSIGN_OR_RETURN(const Ids there, End(group, members, /*keep=*/false));
  return ForEachOf(members.size(), [&](std::size_t i) -> absl::Status {
    const VolumeId& id = members[i];
    ASSIGN_OR_RETURN(const auto lock,
                     volume_locks_.TryLock(id.ToString(), "DeleteVolumeGroupSnapshot"));
    ASSIGN_OR_RETURN(const auto located, LocateIn(pools_, id));
    const bool is_there = std::ranges::find(there, id) != there.end();
    return is_there ? located.pool->DeleteSnapshot(id) : located.pool->Repair(id).status();
  });
}

absl::StatusOr<std::vector<FoundMember>> LocalGroups::Find(const std::string& group) {
  Answers answers = Ask(group, {});
  if (!answers.unanswered.empty()) return answers.unanswered.begin()->second;
  return std::move(answers.members);
}

LocalGroups::Answers LocalGroups::Ask(const std::string& group, const Secrets& secrets) const {
  Answers answers;
  const auto ask = [group](pool::Pool& pool) { return pool.MembersOf(group); };
  for (pool::Pool* const pool : pools_.all()) {
    const auto accessed = pool::AccessPool(*pool, secrets, pool::Credentials::kOptional);
    const auto members =
        accessed.ok() ? pools_.questions().Put(**accessed, ask) : accessed.status();
    if (!members.ok()) {
      answers.unanswered.emplace(pool->info().name, members.status());
      continue;
    }
    for (const Volume& snapshot : *members) {
      answers.members.push_back({DescribeSnapshot(snapshot), *snapshot.group, snapshot.parameters});
    }
  }
  return answers;
}

absl::StatusOr<std::vector<KeyLock::Guard>> LocalGroups::LockAll(const Ids& ids) const {
  std::vector<KeyLock::Guard> locks;
  for (const VolumeId& id : ids) {
    ASSIGN_OR_RETURN(auto lock, volume_locks_.TryLock(id.ToString(), kOperation));
    locks.push_back(std::move(lock));
  }
  return locks;
}

absl::Status LocalGroups::StartWatch() {
  if (ending_) return Unavailable("the driver is stopping; try again");
  if (watch_.joinable()) return absl::OkStatus();
  ASSIGN_OR_RETURN(watch_, StartThread([this] { Watch(); }));
  return absl::OkStatus();
}

// Ends attempts whose coordinator has not come back in time. What is sealed stays undecided.
void LocalGroups::Watch() {
  constexpr std::chrono::milliseconds kLook{500};
  MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return ending_ || !sessions_.empty();
    });
    if (changed_.WaitFor(lock, std::min(kLook, times_.cutting),
                         [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; })) {
      return;
    }
    std::vector<SessionPtr> overdue;
    for (const auto& [group, session] : sessions_) {
      if (session->until.load() < Clock::now()) overdue.push_back(session);
    }
    lock.Unlock();
    for (const SessionPtr& session : overdue) EndOverdue(session);
    lock.Lock();
  }
}

void LocalGroups::EndOverdue(const SessionPtr& session) {
  const MutexLock step(session->mutex);
  if (session->step == Step::kNone || session->until.load() >= Clock::now()) return;
  LogWarning("group snapshot '{}': its coordinator did not come back in time", session->group);
  if (session->step == Step::kSealed) return Close(session);
  GiveUp(session, NotUnderWay(session->group)).IgnoreError();
}

}  // namespace holdfast::controller
