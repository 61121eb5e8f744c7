// SPDX-License-Identifier: Apache-2.0
// What a running Holdfast has, as an audit needs it, and questions about single volumes.
#pragma once

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/volume_id.h"
#include "proto/admin.pb.h"
#include "proto/csi.grpc.pb.h"

namespace holdfast::cli {

// A controller lists all nodes, every other instance what it has itself.
struct Inventory {
  std::string driver;                       // its name in Kubernetes
  std::string node;                         // whose own things these are; empty on a controller
  std::set<std::string> connected;          // nodes that were asked
  std::map<std::string, std::string> lost;  // nodes that are declared lost, and which pools
  bool looked_for_leftovers = true;         // the instance has examined its pools since its start
  admin::v1::ListPoolsResponse pools;
  admin::v1::ListVolumesResponse volumes;
  admin::v1::ListSnapshotsResponse snapshots;
  admin::v1::ListLeftoversResponse leftovers;
  admin::v1::ListTrashResponse trash;
  // Nodes and pools that could not be asked for one of these lists; each once.
  std::vector<admin::v1::Unreachable> unreachable;

  // Why it does not say whether something with this id exists; nothing if it does.
  [[nodiscard]] std::optional<std::string> WhyUnknown(const VolumeId& id) const;
};

// Asks the instance. Errors of the calls.
[[nodiscard]] absl::StatusOr<Inventory> TakeInventory(
    const std::shared_ptr<grpc::Channel>& channel);

// Questions to the owner of a volume or snapshot, whatever a list has said.
class Owners {
 public:
  Owners() = default;
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;
  virtual ~Owners() = default;

  // NOT_FOUND only if it does not exist. UNIMPLEMENTED on an instance that has no Controller
  // service, which is a node's.
  [[nodiscard]] virtual absl::StatusOr<csi::v1::Volume> GetVolume(const std::string& id) = 0;
  [[nodiscard]] virtual absl::Status GetSnapshot(const std::string& id) = 0;
};

// Over the socket.
class CalledOwners final : public Owners {
 public:
  explicit CalledOwners(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(csi::v1::Controller::NewStub(channel)) {}

  [[nodiscard]] absl::StatusOr<csi::v1::Volume> GetVolume(const std::string& id) override;
  [[nodiscard]] absl::Status GetSnapshot(const std::string& id) override;
  // As the CO does it.
  [[nodiscard]] absl::Status DeleteVolume(const std::string& id);

 private:
  const std::unique_ptr<csi::v1::Controller::Stub> stub_;
};

}  // namespace holdfast::cli
