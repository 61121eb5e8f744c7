// SPDX-License-Identifier: Apache-2.0
#include "pool/pool.h"

namespace holdfast::pool {
namespace {

absl::Status CannotExchange(const PoolInfo& info) {
  return FailedPrecondition(
      "pool '{}' (kind {}) exchanges no contents with other pools; copy the data with a pod",
      info.name, info.kind);
}

}  // namespace

absl::StatusOr<SnapshotUse> Pool::GetSnapshotUse(const VolumeId&) {
  return FailedPrecondition("pool '{}' (kind {}) does not know what snapshots take", info().name,
                            info().kind);
}

absl::StatusOr<Content> Pool::DescribeContent(const VolumeId&) { return CannotExchange(info()); }

absl::StatusOr<std::unique_ptr<ContentReader>> Pool::ReadContent(const VolumeId&) {
  return CannotExchange(info());
}

absl::StatusOr<std::unique_ptr<ImageWriter>> Pool::WriteContent(const VolumeId&,
                                                                const std::string&) {
  return CannotExchange(info());
}

absl::Status Pool::NoteArrived(const VolumeId&, const std::string&, Bytes) {
  return CannotExchange(info());
}

absl::Status Pool::FinishArrival(const VolumeId&, const std::string&) {
  return CannotExchange(info());
}

}  // namespace holdfast::pool
