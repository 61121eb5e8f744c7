// SPDX-License-Identifier: Apache-2.0
// A group snapshot of the first two volumes, in the schedules of a pool of one node: all members
// or none, whatever happens between two steps.
#include <fmt/format.h>

#include <algorithm>

#include "pool/group_member.h"
#include "simulator/world_call.h"

namespace holdfast::simulator {
namespace {

constexpr std::size_t kMembers = 2;

}  // namespace

void World::AddGroup(std::uint64_t seed) {
  can_share_ = true;  // what a pool must do for its volumes to be cut together
  machine_.total *= 2;
  SnapshotGroup group;
  group.id = "g:" + UuidOf(77, seed);
  std::vector<VolumeId> ids;
  for (std::size_t i = 0; i < kMembers; ++i) {
    ids.push_back(VolumeId{"p", "n", UuidOf(70 + i, seed)});
    group.members.push_back(ToSnapshotId(ids.back()));
  }
  std::ranges::sort(group.members);
  for (std::size_t i = 0; i < kMembers; ++i) {
    Claim claim;
    claim.id = ids[i];
    claim.source = i;
    claim.spec.role = VolumeRole::kSnapshot;
    claim.spec.name = GroupMemberName(group.id, claims_[i].id.uuid);
    claim.spec.provisioning = claims_[i].spec.provisioning;
    claim.spec.source = ContentSource{VolumeRole::kVolume, claims_[i].id};
    claim.spec.access_type = claims_[i].spec.access_type;
    claim.spec.filesystem = claims_[i].spec.filesystem;
    claim.spec.group = group;
    claims_.push_back(std::move(claim));
  }
}

// The one that decides first.
std::vector<World::Claim*> World::Members() {
  std::vector<Claim*> members;
  for (Claim& claim : claims_) {
    if (claim.is_member()) members.push_back(&claim);
  }
  std::ranges::sort(members, {}, [](const Claim* member) { return ToSnapshotId(member->id); });
  return members;
}

// As a snapshot that a caller can see.
bool World::IsThere(const Claim& claim) {
  const pool::VolumeRecord* const record = RecordOf(claim);
  return record != nullptr && pool::IsUsable(record->volume.state);
}

// As controller/local_groups.cc does it, with the locks of all members and their volumes.
void World::ActOnGroup(Claim& claim) {
  ++calls_;
  const std::vector<Claim*> members = Members();
  std::vector<Claim*> locks;
  for (Claim* const member : members) {
    if (member != &claim) locks.push_back(member);
    locks.push_back(&claims_[*member->source]);
  }
  if (std::ranges::any_of(locks, &Claim::locked)) return;  // ABORTED
  for (Claim* const lock : locks) lock->locked = true;
  const auto any = [&](auto question) { return std::ranges::any_of(members, question); };
  if (any([](const Claim* member) { return member->deleting; })) {
    claim.deleting ? Delete(claim) : void();
  } else if (is_partial_ || (claim.created && Chance(0.5))) {
    DeleteGroup();
  } else {
    CutGroup();
  }
  const bool left = any([](const Claim* member) { return member->created || member->deleting; });
  if (!left) is_partial_ = false;
  for (Claim* const lock : locks) lock->locked = false;
}

void World::CutGroup() {
  Trace("cut the group");
  Observe();
  for (Claim* const member : Members()) {
    const Claim& source = claims_[*member->source];
    if (!machine_.volumes.contains(member->id.uuid)) {
      member->since = source.history.empty() ? 0 : source.history.size() - 1;
      member->complete = member->is_void = member->tainted = false;
    }
    if (source.restored || source.tainted) member->tainted = true;
  }
  const absl::Status cut = Cut();
  if (!cut.ok()) return Trace("  " + MessageOf(cut));
  for (Claim* const member : Members()) {
    if (!IsThere(*member)) return Fail("a group snapshot was returned without one of its members");
    member->created = true;
    member->size = RecordOf(*member)->volume.capacity_bytes;
  }
}

// What an earlier call has left is decided first.
absl::StatusOr<bool> World::Decide() {
  Call call(*this);
  bool keep = false;
  for (Claim* const member : Members()) {
    ASSIGN_OR_RETURN(keep, call.volumes.EndMember(member->id, member->spec.group->id, keep));
  }
  return keep;
}

absl::Status World::Cut() {
  ASSIGN_OR_RETURN(const bool there, Decide());
  if (there) return absl::OkStatus();
  struct Step {
    Step(World& world, const Claim& of) : claim(of), call(world) {}
    const Claim& claim;
    Call call;
    std::unique_ptr<pool::GroupMember> cut;
  };
  std::vector<std::unique_ptr<Step>> steps;
  const auto each = [&](auto act) -> absl::Status {
    for (const auto& step : steps) RETURN_IF_ERROR(act(*step));
    return absl::OkStatus();
  };
  for (Claim* const member : Members()) steps.push_back(std::make_unique<Step>(*this, *member));
  absl::Status done = each([](Step& step) -> absl::Status {
    ASSIGN_OR_RETURN(auto begun, step.call.volumes.BeginMember(step.claim.spec, step.claim.id));
    step.cut =
        std::make_unique<pool::GroupMember>(step.call.volumes, step.call.backend, std::move(begun));
    return step.cut->Prepare();
  });
  if (done.ok()) done = each([](Step& step) { return step.cut->Hold().status(); });
  if (done.ok()) done = each([](Step& step) { return step.cut->Cut(); });
  if (done.ok()) done = each([](Step& step) { return step.cut->Release(); });
  if (done.ok()) done = each([](Step& step) { return step.cut->Seal(); });
  if (done.ok()) {
    // After an error it is not known whether the first one is kept: the next call asks.
    return each([](Step& step) -> absl::Status {
      const std::string& group = step.claim.spec.group->id;
      ASSIGN_OR_RETURN(const bool kept,
                       step.call.volumes.EndMember(step.claim.id, group, /*keep=*/true));
      return kept ? absl::OkStatus() : Aborted("a member is gone");
    });
  }
  for (const auto& step : steps) {
    if (step->cut == nullptr) continue;
    const absl::Status undone = step->cut->Undo(done);
    if (!undone.ok()) Trace("  undone: " + MessageOf(undone));
  }
  return done;
}

// All of it, or one member alone.
void World::DeleteGroup() {
  std::vector<Claim*> members = Members();
  if (Chance(0.3)) {
    is_partial_ = true;
    members = {members[random_() % members.size()]};
  }
  for (Claim* const member : members) {
    if (member->created) member->deleting = true;
  }
  for (Claim* const member : members) {
    if (member->deleting) Delete(*member);
    if (member->deleting) is_partial_ = true;
  }
}

// As pool/undecided.cc does it. False if there is nothing to decide.
bool World::RepairMember(Claim& claim) {
  Call call(*this);
  if (call.volumes.FindLeftover(claim.id.uuid) != LeftoverKind::kUndecidedSnapshot) return false;
  Claim& decides = *Members().front();
  const std::string& group = claim.spec.group->id;
  if (&decides == &claim) {
    (void)call.volumes.EndMember(claim.id, group, /*keep=*/false);
    return true;
  }
  if (decides.locked) return true;
  decides.locked = true;
  const auto kept = call.volumes.EndMember(decides.id, group, /*keep=*/false);
  if (kept.ok()) (void)call.volumes.EndMember(claim.id, group, *kept);
  decides.locked = false;
  return true;
}

// The first member is kept before any other; at rest there are all or none.
void World::CheckGroup(bool at_rest) {
  const std::vector<Claim*> members = Members();
  if (members.empty() || is_partial_ || !problem_.empty()) return;
  if (std::ranges::any_of(members, &Claim::deleting)) return;
  const auto there =
      std::ranges::count_if(members, [&](const Claim* member) { return IsThere(*member); });
  if (there > 0 && !IsThere(*members.front())) {
    return Fail("a member of the group is there without the one that decides");
  }
  if (at_rest && there != 0 && there != static_cast<std::ptrdiff_t>(members.size())) {
    Fail("a group snapshot has a part of its members");
  }
}

}  // namespace holdfast::simulator
