// SPDX-License-Identifier: Apache-2.0
// CreateVolume for a controller without file pools: which node makes the volume, and how it is
// found again when an answer was lost (docs/adr/0021).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "controller/held_contents.h"
#include "controller/node_calls.h"
#include "controller/placement.h"
#include "controller/superseded_volumes.h"
#include "core/key_lock.h"
#include "core/volume.h"
#include "link/hub.h"
#include "link/transfer_relay.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

// Thread-safe. Each name gets one volume in the whole cluster, wherever: a node that has it, or was
// asked to make it and has not answered, is asked again. Of a node's answer only the size is taken:
// which volume it is and from where it is reached follow from the question.
class VolumeCreation final {
 public:
  // For a transfer between two nodes: TransferRelay::Issue.
  using IssueTicket = std::function<std::string(const link::TransferOrder&)>;

  // `hub` and `volume_locks` outlive it.
  VolumeCreation(std::string driver_name, link::Hub& hub, KeyLock& volume_locks,
                 IssueTicket issue_ticket, OwnContents own)
      : driver_name_(std::move(driver_name)),
        issue_ticket_(std::move(issue_ticket)),
        describe_own_(own.describe),
        hub_(hub),
        nodes_(hub),
        held_(hub, std::move(own)),
        superseded_(hub, volume_locks) {}

  // INVALID_ARGUMENT naming the field.
  [[nodiscard]] static absl::StatusOr<PlacementRequest> ParsePlacementRequest(
      const csi::v1::CreateVolumeRequest& request);

  // The caller holds NameKey(name). ALREADY_EXISTS when a node has a volume of that name that is
  // another than the wanted one, or where the request does not allow it; RESOURCE_EXHAUSTED when no
  // node that is there has room and the CO may choose others; UNAVAILABLE when one that is not
  // there may have the volume, or the room, or a node's answer was refused; else as the node
  // answers. A volume with a source is made on the node of its source, if the request allows it
  // and the node has room. Else the bytes are brought to another one, those of a volume from a
  // snapshot of it that is held meanwhile, and the call is ABORTED with the progress until they are
  // there.
  [[nodiscard]] absl::Status Create(const csi::v1::CreateVolumeRequest& request,
                                    const PlacementRequest& wanted, link::Deadline deadline,
                                    csi::v1::CreateVolumeResponse& response);

  // For a volume that no node will make: OK when no node has one of that name.
  // What was only in doubt is given up. ALREADY_EXISTS, or UNAVAILABLE while such a node is away.
  // The caller holds NameKey(name).
  [[nodiscard]] absl::Status LeaveNodes(const std::string& name);

 private:
  enum class Outcome {
    kMade,
    kRefused,    // the node has nothing of that name
    kRejected,   // its answer is not believed; what it has is not known
    kUnsent,     // it is not connected
    kUncertain,  // it may be making the volume
  };
  struct Attempt {
    Outcome outcome = Outcome::kUnsent;
    absl::Status status;
  };
  // A snapshot on another node than the volume is made on, or in a pool that every node reaches.
  struct Origin {
    VolumeId snapshot;
    link::v1::Content content;
  };
  struct Task {
    const csi::v1::CreateVolumeRequest& request;
    const PlacementRequest& wanted;
    link::Deadline deadline;
    csi::v1::CreateVolumeResponse& response;
    std::set<std::string>& asked;  // nodes, in this call
    const Origin* origin;          // null: the node that is asked needs no other
  };

  absl::Status CreateSomewhere(const csi::v1::CreateVolumeRequest& request,
                               const PlacementRequest& wanted, link::Deadline deadline,
                               csi::v1::CreateVolumeResponse& response,
                               const Origin* origin = nullptr);
  absl::Status CreateElsewhere(const csi::v1::CreateVolumeRequest& request,
                               const PlacementRequest& wanted, const ContentSource& source,
                               link::Deadline deadline, csi::v1::CreateVolumeResponse& response);
  [[nodiscard]] std::vector<link::VolumeNames::Place> KnownPlaces(const std::string& name) const;
  // Whether it is, or may be being made, on a node other than its source's, where it may stay.
  bool IsBegunElsewhere(const csi::v1::CreateVolumeRequest& request, const std::string& node) const;
  // volume_creation_clones.cc
  absl::Status CloneElsewhere(const csi::v1::CreateVolumeRequest& request,
                              const PlacementRequest& wanted, const VolumeId& volume,
                              link::Deadline deadline, csi::v1::CreateVolumeResponse& response);
  absl::Status CloneHeld(const csi::v1::CreateVolumeRequest& request,
                         const PlacementRequest& wanted, const VolumeId& volume,
                         link::Deadline deadline, csi::v1::CreateVolumeResponse& response);
  absl::StatusOr<link::v1::Content> Describe(const VolumeId& snapshot, link::Deadline deadline);
  absl::StatusOr<std::string> AskToCreate(const std::string& node, const Task& task);
  // The request, with that node as the only place.
  csi::v1::CreateVolumeRequest OnlyOn(const std::string& node,
                                      const csi::v1::CreateVolumeRequest& request) const;
  absl::StatusOr<Candidates> AwaitPlace(const Task& task);
  [[nodiscard]] std::vector<link::NodeView> NodesFor(
      const csi::v1::TopologyRequirement& requirement) const;
  [[nodiscard]] bool Allows(const csi::v1::TopologyRequirement& requirement,
                            const std::string& node) const;
  bool AskKnown(const Task& task, const std::vector<link::VolumeNames::Place>& known,
                absl::Status& made);
  absl::Status LeaveForeign(const Task& task, const std::vector<link::VolumeNames::Place>& known);
  bool AskCandidates(const Task& task, const Candidates& candidates, absl::Status& made);
  bool MayLeave(const Task& task, const link::VolumeNames::Place& place, const Attempt& attempt);
  Attempt CreateOn(const std::string& node, const Task& task);
  csi::v1::CreateVolumeRequest RequestTo(const std::string& node, const Task& task) const;
  absl::Status TakeAnswer(const link::NodeView& node, const Task& task, const std::string& answer);
  void GiveUp(const std::string& name, const std::string& node, const std::string& pool);

  const std::string driver_name_;
  const IssueTicket issue_ticket_;
  const std::function<absl::StatusOr<Content>(const std::string&)> describe_own_;
  link::Hub& hub_;
  NodeCalls nodes_;
  HeldContents held_;
  SupersededVolumes superseded_;
};

}  // namespace holdfast::controller
