// SPDX-License-Identifier: Apache-2.0
// Pages about the blocks of snapshots on nodes.
#include "controller/link_commands.h"
#include "controller/router.h"

namespace holdfast::controller {

absl::StatusOr<pool::RangePage> NodeCalls::FindRanges(const VolumeId& snapshot,
                                                      const RangesQuestion& question,
                                                      link::Deadline deadline) {
  ASSIGN_OR_RETURN(const std::string answer, AskFor(snapshot.node, Codes::kOfVolume, kFindRanges,
                                                    ToMessage(question), deadline));
  link::v1::Ranges message;
  RETURN_IF_ERROR(ParseAnswer(snapshot.node, answer, message));
  auto page = ParsePage(message, question.offset);
  if (!page.ok()) return Refuse(snapshot.node, MessageOf(page.status()));
  return page;
}

absl::StatusOr<pool::RangePage> Router::FindRanges(const RangesQuestion& question,
                                                   link::Deadline deadline) {
  ASSIGN_OR_RETURN(const SnapshotPlaces places, ParsePlaces(question));
  if (IsOwn(question.snapshot)) return env_.own.FindRanges(question);
  if (places.snapshot.node.empty()) {
    return Unavailable("'{}' belongs to pool '{}', which is not configured here", question.snapshot,
                       places.snapshot.pool);
  }
  return nodes_.FindRanges(places.snapshot, question, deadline);
}

}  // namespace holdfast::controller
