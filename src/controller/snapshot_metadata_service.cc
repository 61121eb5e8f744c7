// SPDX-License-Identifier: Apache-2.0
#include "controller/snapshot_metadata_service.h"

#include <algorithm>

#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

// One page: a node reads its images for half a second.
constexpr std::chrono::seconds kPageTime{60};
// Ranges in a message: some 300 KiB, of the 4 MiB that clients take.
constexpr int kMostResults = 16384;

rpc::CallRunner::Call CallAbout(std::string_view method, const std::string& snapshot) {
  const auto id = ParseSnapshotId(snapshot);
  return {method, snapshot, LogLevel::kInfo, id ? rpc::PoolKey(id->pool, id->node) : ""};
}

absl::Status EndedByCaller() {
  return MakeStatus(absl::StatusCode::kCancelled, "the caller takes no more");
}

// Joins ranges that touch and fills messages with the result.
template <typename Response>
class Messages final {
 public:
  Messages(Bytes start, int most, const std::function<bool(const Response&)>& send)
      : start_(start), most_(most), send_(send) {}

  // False if the caller takes no more.
  bool Add(const pool::RangePage& page) {
    capacity_ = page.capacity;
    for (const pool::Range& range : page.ranges) {
      if (range.end <= start_) continue;
      if (last_.end == range.begin) {
        last_.end = range.end;
        continue;
      }
      if (!TakeLast()) return false;
      last_ = range;
    }
    const bool is_last = page.next == page.capacity;
    return is_last || message_.block_metadata().empty() || Flush();
  }
  bool End() { return TakeLast() && (message_.block_metadata().empty() || Flush()); }

 private:
  bool TakeLast() {
    if (last_.begin == last_.end) return true;
    csi::v1::BlockMetadata& extent = *message_.add_block_metadata();
    extent.set_byte_offset(last_.begin);
    extent.set_size_bytes(last_.end - last_.begin);
    last_ = {};
    return message_.block_metadata_size() < most_ || Flush();
  }
  bool Flush() {
    message_.set_block_metadata_type(csi::v1::VARIABLE_LENGTH);
    message_.set_volume_capacity_bytes(capacity_);
    const bool sent = send_(message_);
    message_.Clear();
    return sent;
  }

  const Bytes start_;
  const int most_;
  const std::function<bool(const Response&)>& send_;
  Bytes capacity_ = 0;
  pool::Range last_;  // not in a message yet: the next one may touch it
  Response message_;
};

template <typename Response>
SnapshotMetadataService::Caller<Response> CallerOf(grpc::ServerContext* context,
                                                   grpc::ServerWriter<Response>* writer) {
  return {.send = [writer](const Response& message) { return writer->Write(message); },
          .is_waiting = [context] { return !context->IsCancelled(); }};
}

}  // namespace

template <typename Response>
absl::Status SnapshotMetadataService::Stream(RangesQuestion question, int max_results,
                                             const Caller<Response>& caller) {
  if (max_results < 0) return InvalidArgument("max_results is negative");
  const Bytes start = question.offset;
  if (start < 0) {
    return MakeStatus(absl::StatusCode::kOutOfRange, "starting_offset is negative");
  }
  question.offset = AlignDown(start, pool::kRangeGranularity);
  const int most = max_results == 0 ? kMostResults : std::min(max_results, kMostResults);
  Messages<Response> messages(start, most, caller.send);
  pool::RangePage page;
  for (bool first = true; first || question.offset < page.capacity; first = false) {
    ASSIGN_OR_RETURN(pool::RangePage next,
                     ask_(question, std::chrono::steady_clock::now() + kPageTime));
    if (!first && next.version != page.version) {
      return Aborted("a snapshot was replaced by another one of its name; begin again");
    }
    const absl::Status sound = CheckPage(next, question.offset, page.capacity);
    if (!sound.ok()) return Internal("{}", MessageOf(sound));
    page = std::move(next);
    if (start > page.capacity) {  // by less than the granularity
      return MakeStatus(absl::StatusCode::kOutOfRange,
                        "starting_offset is behind the end of the snapshot");
    }
    if (!messages.Add(page) || !caller.is_waiting()) return EndedByCaller();
    question.offset = page.next;
  }
  return messages.End() ? absl::OkStatus() : EndedByCaller();
}

absl::Status SnapshotMetadataService::Allocated(
    const csi::v1::GetMetadataAllocatedRequest& request,
    const Caller<csi::v1::GetMetadataAllocatedResponse>& caller) {
  RETURN_IF_ERROR(rpc::RequireId(request.snapshot_id(), "snapshot_id"));
  return Stream({.snapshot = request.snapshot_id(),
                 .base = std::nullopt,
                 .offset = request.starting_offset(),
                 .secrets = request.secrets()},
                request.max_results(), caller);
}

absl::Status SnapshotMetadataService::Delta(
    const csi::v1::GetMetadataDeltaRequest& request,
    const Caller<csi::v1::GetMetadataDeltaResponse>& caller) {
  RETURN_IF_ERROR(rpc::RequireId(request.base_snapshot_id(), "base_snapshot_id"));
  RETURN_IF_ERROR(rpc::RequireId(request.target_snapshot_id(), "target_snapshot_id"));
  return Stream({.snapshot = request.target_snapshot_id(),
                 .base = request.base_snapshot_id(),
                 .offset = request.starting_offset(),
                 .secrets = request.secrets()},
                request.max_results(), caller);
}

grpc::Status SnapshotMetadataService::GetMetadataAllocated(
    grpc::ServerContext* context, const csi::v1::GetMetadataAllocatedRequest* request,
    grpc::ServerWriter<csi::v1::GetMetadataAllocatedResponse>* writer) {
  return calls_.Run(context, CallAbout("GetMetadataAllocated", request->snapshot_id()), [&] {
    const rpc::RunningStreams::Entry running(streams_, context);
    return Allocated(*request, CallerOf(context, writer));
  });
}

grpc::Status SnapshotMetadataService::GetMetadataDelta(
    grpc::ServerContext* context, const csi::v1::GetMetadataDeltaRequest* request,
    grpc::ServerWriter<csi::v1::GetMetadataDeltaResponse>* writer) {
  return calls_.Run(context, CallAbout("GetMetadataDelta", request->target_snapshot_id()), [&] {
    const rpc::RunningStreams::Entry running(streams_, context);
    return Delta(*request, CallerOf(context, writer));
  });
}

}  // namespace holdfast::controller
