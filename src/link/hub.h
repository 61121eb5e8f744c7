// SPDX-License-Identifier: Apache-2.0
// The controller's end of the link: which nodes are there, and commands to them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"
#include "core/mutex.h"
#include "link/lost_pools.h"
#include "link/node_identity.h"
#include "link/peer_watch.h"
#include "link/pool_checks.h"
#include "link/session.h"
#include "link/volume_names.h"

namespace holdfast::link {

// The version that both ends must speak (Register.protocol).
constexpr std::uint32_t kProtocol = 3;

// How a connected node has described itself.
struct NodeView {
  std::string name;
  std::shared_ptr<const v1::Pools> pools;  // never null
  std::string version;                     // of its software, as it says
};

// How long the hub waits. The defaults go with the pauses between a node's attempts (NodeLink).
struct HubTimes {
  using Duration = std::chrono::milliseconds;

  // A stream that is older ends: its node has to show again who it is, by a certificate and a token
  // that are still valid then. Nodes open a new stream before (NodeLink::kRenewal).
  Duration max_stream_age = std::chrono::minutes(15);
  // A stream whose peer is not a proved node by then ends.
  Duration introduction = std::chrono::seconds(10);
  // A node that lost its link is back within this, unless it is gone.
  Duration reconnect_grace = std::chrono::seconds(5);
  // After a start every node that is alive is back within this, twice its longest pause; or, where
  // thousands come, when none has come for longer than that pause.
  Duration settle = std::chrono::seconds(10);
  Duration settle_quiet_period = std::chrono::seconds(6);
  Duration longest_settle = std::chrono::seconds(60);  // at least `settle`
  // A node that is away for longer has left the cluster, or an administrator is at work on it.
  Duration lost_node_retention = std::chrono::minutes(10);
};

// Thread-safe. The nodes hold the authoritative state: what is kept here was learned from streams
// that are up, and is learned again after a restart.
class Hub final : public SessionOwner {
 public:
  // `identity` outlives the hub.
  Hub(std::string driver_name, NodeIdentity& identity, HubTimes times = {},
      std::vector<LostPool> lost = {});
  ~Hub() override;

  // Before the service is served; `watch` outlives the server.
  void SetPeerWatch(PeerWatch& watch) { watch_ = &watch; }
  // To be served with credentials that ask the peer for a certificate.
  [[nodiscard]] grpc::Service& service() { return service_; }

  // The node's answer to a command; its own status is in the result. Waits for a node that is not
  // there, for a limited time: it may be on its way back. UNAVAILABLE when it does not come, or its
  // stream breaks; DEADLINE_EXCEEDED as Session::Call.
  [[nodiscard]] absl::StatusOr<v1::Result> Call(const std::string& node, const v1::Command& command,
                                                Deadline deadline);

  [[nodiscard]] std::vector<NodeView> Nodes() const;  // connected ones, by name
  // Those of them that are named, in that order; looks at no others.
  [[nodiscard]] std::vector<NodeView> Nodes(const std::vector<std::string>& names) const;
  [[nodiscard]] std::size_t CountNodes() const;
  // Waits as Call does; whether the node is connected then.
  [[nodiscard]] bool WaitFor(const std::string& node, Deadline deadline);

  // The time after a start in which nodes come back. False while it runs. It lasts longer while
  // authenticated nodes connect; others do not count.
  [[nodiscard]] bool IsSettled() const;
  // Waits for its end; false if the deadline comes first.
  [[nodiscard]] bool WaitUntilSettled(Deadline deadline);
  // Waits within that time until more nodes are connected than `nodes`, or no longer than a call
  // may wait for one; false if none came.
  [[nodiscard]] bool WaitForMoreThan(std::size_t nodes, Deadline deadline);
  // Nodes that were connected not long ago and are not now: what they have is not known.
  [[nodiscard]] std::vector<std::string> Missing() const;

  // Which node has a volume of a name; learned from nodes that connect, and kept as long as they
  // are connected or missing.
  [[nodiscard]] VolumeNames& names() { return names_; }
  // The same for the names of snapshots.
  [[nodiscard]] VolumeNames& snapshot_names() { return snapshot_names_; }

  // The same for group snapshots that have a member on the node.
  [[nodiscard]] VolumeNames& group_names() { return group_names_; }

  // Whether what is in the node's pool of that name is gone for good: the pool is declared lost,
  // and the node has no other storage under the name.
  [[nodiscard]] bool IsLost(const std::string& node, const std::string& pool) const;
  [[nodiscard]] const LostPools& lost_pools() const { return lost_pools_; }

  // A connection was closed before its peer said anything.
  void CountRefusal(absl::StatusCode code);
  // Peers that were turned away, by the code of the refusal; since the start.
  [[nodiscard]] std::map<absl::StatusCode, std::uint64_t> Refusals() const;

  // Ends streams whose peers do not register, and those that are too old, and forgets nodes that
  // have left. Call about once a second.
  void EndOverdue();
  // Ends all streams and takes no more.
  void Stop();

  absl::Status OnRegister(Session& session, const v1::Register& message) override;
  absl::Status OnVolumes(Session& session, const v1::Volumes& part) override;
  void OnProved(const std::shared_ptr<Session>& session) override;
  absl::Status OnPools(Session& session, const v1::Pools& pools) override;
  void OnEnd(Session& session, const absl::Status& why) override;
  void OnMessage(const Session& session) override;
  void OnGone(const Session& session) override;

 private:
  // Raw: messages are measured before they are parsed.
  class LinkService final : public v1::Link::WithRawCallbackMethod_Connect<v1::Link::Service> {
   public:
    explicit LinkService(Hub& hub) : hub_(hub) {}
    grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Connect(
        grpc::CallbackServerContext* context) override;

   private:
    Hub& hub_;
  };
  struct Node {
    std::shared_ptr<Session> session;
    std::shared_ptr<const v1::Pools> pools;
    std::string version;
  };
  // What a node has said that is not connected yet.
  struct Arrival {
    std::string node;
    v1::Pools pools;
    std::string version;
    NamedVolumes volumes;
    NamedVolumes snapshots;
    NamedVolumes groups;
    bool renews = false;  // the node's older stream is up
  };

  void PostponeSettled() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Session> KeepArrival(Session& session, Arrival arrival)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RequireSamePools(const std::string& node, const PoolIds& pools) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Session> AwaitSession(const std::string& node, Deadline deadline);

  const std::string driver_name_;
  NodeIdentity& identity_;
  const HubTimes times_;
  const LostPools lost_pools_;
  PeerWatch* watch_ = nullptr;
  // Not the system's clock, which is set at boot.
  const std::chrono::steady_clock::time_point started_at_ = std::chrono::steady_clock::now();
  LinkService service_{*this};
  VolumeNames names_;
  VolumeNames snapshot_names_;
  VolumeNames group_names_;
  LogThrottle refusal_lines_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::chrono::steady_clock::time_point settled_at_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Node> nodes_ ABSL_GUARDED_BY(mutex_);             // proved ones
  std::map<const Session*, Arrival> registered_ ABSL_GUARDED_BY(mutex_);  // not proved yet
  std::map<const Session*, std::weak_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);  // all
  // Of every node that was connected.
  std::map<std::string, PoolIds> pool_ids_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::chrono::steady_clock::time_point> lost_ ABSL_GUARDED_BY(mutex_);
  std::map<absl::StatusCode, std::uint64_t> refusals_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::link
