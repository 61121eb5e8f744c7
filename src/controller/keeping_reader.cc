// SPDX-License-Identifier: Apache-2.0
#include "controller/keeping_reader.h"

#include "core/log.h"

namespace holdfast::controller {

absl::StatusOr<std::optional<ContentPiece>> KeepingReader::Next(Bytes offset) {
  if (Clock::now() - kept_ >= interval_) Keep();
  return reader_->Next(offset);
}

// A call that has the snapshot's lock asks for it, or removes it. One that is gone is noticed by
// the reader itself.
void KeepingReader::Keep() {
  kept_ = Clock::now();
  const auto lock = locks_.TryLockInBackground(snapshot_.id.ToString(), "a reader");
  if (!lock) return;
  const absl::Status kept = snapshot_.pool->KeepHeld(snapshot_.id);
  if (!kept.ok()) LogWarning("snapshot '{}': {}", ToSnapshotId(snapshot_.id), MessageOf(kept));
}

}  // namespace holdfast::controller
