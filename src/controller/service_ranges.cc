// SPDX-License-Identifier: Apache-2.0
// Pages about the blocks of snapshots in the pools of this process.
#include "controller/service.h"

namespace holdfast::controller {

absl::StatusOr<pool::RangePage> Service::FindRanges(const RangesQuestion& question) const {
  ASSIGN_OR_RETURN(const SnapshotPlaces places, ParsePlaces(question));
  ASSIGN_OR_RETURN(const auto located, LocateSnapshot(question.snapshot, question.secrets));
  auto page = located.pool->FindRanges(places.snapshot, places.base, question.offset);
  // The first page may have asked for tables of digests.
  if (page.ok() && question.offset == 0) CopyInBackground();
  return page;
}

// The controller's question has come with the stream's secrets left out, as to every node.
grpc::Status Service::FindRanges(const link::v1::FindRanges& request, link::v1::Ranges& response) {
  return env_.calls.Run(nullptr, CallAbout("FindRanges", request.snapshot(), LogLevel::kDebug),
                        [&]() -> absl::Status {
                          ASSIGN_OR_RETURN(const pool::RangePage page,
                                           FindRanges(ParseQuestion(request)));
                          response = ToMessage(page);
                          return absl::OkStatus();
                        });
}

}  // namespace holdfast::controller
