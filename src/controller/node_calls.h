// SPDX-License-Identifier: Apache-2.0
// CSI requests to nodes over the link, with CSI's errors, and the parts of a node's answer that are
// passed to the caller. A node is believed in what only it can know of its own volumes: that one is
// there, how large it is, in which condition. The rest is built here from what was asked, so that
// no answer can be about anything else.
#pragma once

#include <grpcpp/server_context.h>

#include <optional>
#include <string>
#include <string_view>

#include "controller/content_messages.h"
#include "controller/range_messages.h"
#include "core/bytes.h"
#include "core/volume_id.h"
#include "link/hub.h"
#include "link/transfer_relay.h"
#include "proto/csi.pb.h"
#include "proto/link.pb.h"

namespace holdfast::controller {

// The error codes that calls of a kind have, besides those that all have. Only a creation from a
// source may say NOT_FOUND of it.
enum class Codes { kOfCreation, kOfVolume, kOfList };

// Until when the caller waits, or a minute if it does not say.
[[nodiscard]] link::Deadline DeadlineOf(const grpc::ServerContext* context);

// Thread-safe. Besides what the node itself answers: UNAVAILABLE when it is not connected, does not
// come back within the time that the hub waits, or its link breaks; DEADLINE_EXCEEDED.
class NodeCalls final {
 public:
  // `hub` outlives it.
  explicit NodeCalls(link::Hub& hub) : hub_(hub) {}

  // Sends a request that the table of RPCs (rpc_table.h) has, without its secrets: nodes need none.
  // The bytes of the response, if the node's status is OK; ParseAnswer makes a message of them. Of
  // its errors only codes that such a call has are passed on, INTERNAL for others; the message says
  // which node speaks.
  [[nodiscard]] absl::StatusOr<std::string> Ask(const std::string& node,
                                                const google::protobuf::Message& request,
                                                link::Deadline deadline);

  // CreateVolume from a snapshot on another node.
  [[nodiscard]] absl::StatusOr<std::string> AskToCreate(const std::string& node,
                                                        const csi::v1::CreateVolumeRequest& request,
                                                        const link::v1::Incoming& incoming,
                                                        link::Deadline deadline);

  // What the snapshot's node says of it. NOT_FOUND if there is none.
  [[nodiscard]] absl::StatusOr<link::v1::Content> DescribeContent(const VolumeId& snapshot,
                                                                  link::Deadline deadline);
  // Has the source of a transfer open it.
  [[nodiscard]] absl::Status SendContent(const link::TransferOrder& order,
                                         const std::string& ticket, link::Deadline deadline);

  // Has the snapshot's node copy it to a volume of a pool that every node reaches, or go on with
  // that.
  [[nodiscard]] absl::Status CopyContent(const VolumeId& snapshot, const std::string& version,
                                         const VolumeId& volume, link::Deadline deadline);

  // Has the volume's node make a snapshot of it that is held for the clone of that name, or find
  // the one that it has made. ABORTED until that is complete.
  [[nodiscard]] absl::StatusOr<HeldContent> HoldContent(const VolumeId& volume,
                                                        const std::string& name,
                                                        link::Deadline deadline);
  // Has it remove that; OK if there is none.
  [[nodiscard]] absl::Status ReleaseContent(const VolumeId& volume, const std::string& name,
                                            link::Deadline deadline);

  // A method of the link that CSI does not have (link_commands.h).
  [[nodiscard]] absl::StatusOr<std::string> AskFor(const std::string& node, Codes codes,
                                                   const std::string& method,
                                                   const google::protobuf::Message& request,
                                                   link::Deadline deadline);

  // A page about a snapshot of a node. NOT_FOUND if there is none.
  [[nodiscard]] absl::StatusOr<pool::RangePage> FindRanges(const VolumeId& snapshot,
                                                           const RangesQuestion& question,
                                                           link::Deadline deadline);

  // Ask, of the node that owns the volume or snapshot. NOT_FOUND if no such id was ever made.
  [[nodiscard]] absl::StatusOr<std::string> CallOwner(const std::string& subject,
                                                      const google::protobuf::Message& request,
                                                      link::Deadline deadline);

 private:
  absl::StatusOr<std::string> Send(const std::string& node, Codes codes,
                                   const link::v1::Command& command, link::Deadline deadline);

  link::Hub& hub_;
};

// OK, or the node's error with a code that such a call has (INTERNAL for any other), and a message
// that is cleaned, cut, and says which node speaks.
[[nodiscard]] absl::Status StatusOf(const std::string& node, Codes codes,
                                    const link::v1::Result& result);

// All below: UNAVAILABLE, and a line in the log, for an answer that is not one to what was asked.

// What the node answered, parsed within the link's limits.
[[nodiscard]] absl::Status ParseAnswer(const std::string& node, const std::string& bytes,
                                       google::protobuf::Message& answered);

// The place of a volume or snapshot by its id; nothing if neither can have it.
[[nodiscard]] std::optional<VolumeId> ParseSubject(std::string_view text);

struct Size {
  Bytes least = 1;
  Bytes most = 0;  // 0: no limit
};

// The volume `id`, of which only the size is taken from the answer.
[[nodiscard]] absl::StatusOr<csi::v1::Volume> TakeVolume(const csi::v1::Volume& answered,
                                                         const VolumeId& id, const Size& size,
                                                         const std::string& driver_name);

// The volume or snapshot that a request was about.
struct Asked {
  const VolumeId& id;
  const std::string& driver_name;
};

// Nothing smaller or larger than the request says.
[[nodiscard]] absl::Status TakeExpansion(const csi::v1::ControllerExpandVolumeRequest& request,
                                         const Asked& asked,
                                         const csi::v1::ControllerExpandVolumeResponse& answered,
                                         csi::v1::ControllerExpandVolumeResponse& response);

[[nodiscard]] absl::Status TakeDescription(const csi::v1::ControllerGetVolumeRequest& request,
                                           const Asked& asked,
                                           const csi::v1::ControllerGetVolumeResponse& answered,
                                           csi::v1::ControllerGetVolumeResponse& response);

// What is confirmed is exactly what was asked, or nothing.
[[nodiscard]] absl::Status TakeConfirmation(
    const csi::v1::ValidateVolumeCapabilitiesRequest& request, const Asked& asked,
    const csi::v1::ValidateVolumeCapabilitiesResponse& answered,
    csi::v1::ValidateVolumeCapabilitiesResponse& response);

// A new snapshot of the volume that was asked for.
[[nodiscard]] absl::Status TakeNewSnapshot(const csi::v1::CreateSnapshotRequest& request,
                                           const Asked& asked,
                                           const csi::v1::CreateSnapshotResponse& answered,
                                           csi::v1::CreateSnapshotResponse& response);

// The snapshot that was asked for, of a volume in its pool.
[[nodiscard]] absl::Status TakeSnapshot(const csi::v1::GetSnapshotRequest& request,
                                        const Asked& asked,
                                        const csi::v1::GetSnapshotResponse& answered,
                                        csi::v1::GetSnapshotResponse& response);

// One of a list: a snapshot on this node, of a volume in its pool.
[[nodiscard]] absl::StatusOr<csi::v1::Snapshot> TakeListedSnapshot(
    const std::string& node, const csi::v1::Snapshot& answered);

// The condition, with its text cleaned and cut.
[[nodiscard]] csi::v1::VolumeCondition TakeCondition(const csi::v1::VolumeCondition& answered);

// UNAVAILABLE, logged: the node's answer is refused because of `why`.
[[nodiscard]] absl::Status Refuse(const std::string& node, const std::string& why);

}  // namespace holdfast::controller
