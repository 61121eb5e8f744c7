// SPDX-License-Identifier: Apache-2.0
#include "pool/group_member.h"

namespace holdfast::pool {

absl::Status GroupMember::Prepare() { return backend_.PrepareCut(*begun_.source, begun_.record); }

absl::StatusOr<Writers> GroupMember::Hold() {
  ASSIGN_OR_RETURN(held_, backend_.HoldWriters(*begun_.source));
  return Writers{
      .held = held_.quiet != nullptr || !held_.in_use, .node = held_.node, .device = held_.device};
}

absl::Status GroupMember::Cut() { return backend_.CutHeld(*begun_.source, begun_.record, held_); }

absl::Status GroupMember::Release() {
  if (held_.quiet == nullptr) return absl::OkStatus();
  const absl::Status ended = held_.quiet->End();
  held_.quiet.reset();
  return ended;
}

absl::Status GroupMember::Seal() { return volumes_.SealMember(begun_); }

absl::Status GroupMember::Undo(const absl::Status& cause) {
  held_.quiet.reset();
  return volumes_.UndoMember(std::move(begun_), cause);
}

}  // namespace holdfast::pool
