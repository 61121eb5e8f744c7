// SPDX-License-Identifier: Apache-2.0
// Members of group snapshots (docs/adr/0030).
#include <utility>

#include "file/file_pool_call.h"
#include "pool/group_member.h"

namespace holdfast::file {

// A member with the call that it is cut in.
class FilePool::Member final : public pool::MemberCut {
 public:
  Member(FilePool& owner, const VerifiedPool& pool, const CutOptions& cut)
      : pool_(pool), call_(owner, pool_, cut) {}

  absl::Status Begin(const VolumeSpec& spec, const VolumeId& id) {
    ASSIGN_OR_RETURN(auto begun, call_.volumes.BeginMember(spec, id));
    steps_ = std::make_unique<pool::GroupMember>(call_.volumes, call_.backend, std::move(begun));
    return absl::OkStatus();
  }

  absl::Status Prepare() override { return steps_->Prepare(); }
  absl::StatusOr<pool::Writers> Hold() override { return steps_->Hold(); }
  absl::Status Cut() override { return steps_->Cut(); }
  absl::Status Release() override { return steps_->Release(); }
  absl::Status Seal() override { return steps_->Seal(); }
  absl::Status Undo(const absl::Status& cause) override { return steps_->Undo(cause); }

 private:
  const VerifiedPool pool_;
  Call call_;
  std::unique_ptr<pool::GroupMember> steps_;
};

absl::StatusOr<std::unique_ptr<pool::MemberCut>> FilePool::BeginCut(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  auto member = std::make_unique<Member>(*this, pool, spec.cut);
  RETURN_IF_ERROR(member->Begin(spec, IdForSpec(spec)));
  return member;
}

absl::StatusOr<bool> FilePool::EndMember(const VolumeId& id, const std::string& group, bool keep) {
  ASSIGN_OR_RETURN(const VerifiedPool pool, directory_.Verify());
  return Call(*this, pool).volumes.EndMember(id, group, keep);
}

absl::StatusOr<std::vector<Volume>> FilePool::MembersOf(const std::string& group) {
  std::vector<Volume> members = ListOf(VolumeRole::kSnapshot, "", 0);
  std::erase_if(members, [&](const Volume& snapshot) {
    return !snapshot.group || snapshot.group->id != group;
  });
  return members;
}

std::vector<Volume> FilePool::Undecided() {
  std::vector<Volume> snapshots = records_.Undecided();
  for (Volume& snapshot : snapshots) snapshot = WithPool(std::move(snapshot));
  return snapshots;
}

}  // namespace holdfast::file
