// SPDX-License-Identifier: Apache-2.0
// csi.v1.SnapshotMetadata: which blocks of a snapshot hold data, and which differ from an earlier
// snapshot, as streams for backup programs.
#pragma once

#include <functional>

#include "controller/range_messages.h"
#include "link/session.h"
#include "proto/csi.grpc.pb.h"
#include "rpc/call_runner.h"
#include "rpc/running_streams.h"

namespace holdfast::controller {

// Thread-safe. Asks for one page after the other and puts them into messages: ranges of any length,
// joined where they touch, none of which ends at starting_offset or before it. A stream that is
// begun again where a range of an earlier one ended goes on as that did. Errors: those of
// Pool::FindRanges; CANCELLED when the driver stops.
class SnapshotMetadataService final : public csi::v1::SnapshotMetadata::Service {
 public:
  using Ask = std::function<absl::StatusOr<pool::RangePage>(const RangesQuestion&, link::Deadline)>;
  SnapshotMetadataService(rpc::CallRunner& calls, Ask ask) : calls_(calls), ask_(std::move(ask)) {}

  grpc::Status GetMetadataAllocated(
      grpc::ServerContext* context, const csi::v1::GetMetadataAllocatedRequest* request,
      grpc::ServerWriter<csi::v1::GetMetadataAllocatedResponse>* writer) override;
  grpc::Status GetMetadataDelta(
      grpc::ServerContext* context, const csi::v1::GetMetadataDeltaRequest* request,
      grpc::ServerWriter<csi::v1::GetMetadataDeltaResponse>* writer) override;

  // The same without their frame. CANCELLED when the caller takes no more.
  template <typename Response>
  struct Caller {
    std::function<bool(const Response&)> send;  // false if it does not want it
    std::function<bool()> is_waiting = [] { return true; };
  };
  absl::Status Allocated(const csi::v1::GetMetadataAllocatedRequest& request,
                         const Caller<csi::v1::GetMetadataAllocatedResponse>& caller);
  absl::Status Delta(const csi::v1::GetMetadataDeltaRequest& request,
                     const Caller<csi::v1::GetMetadataDeltaResponse>& caller);

  // Ends all streams, also one whose client does not read, and lets none begin.
  void Stop() { streams_.Stop(); }

 private:
  template <typename Response>
  absl::Status Stream(RangesQuestion question, int max_results, const Caller<Response>& caller);

  rpc::CallRunner& calls_;
  const Ask ask_;
  rpc::RunningStreams streams_;
};

}  // namespace holdfast::controller
