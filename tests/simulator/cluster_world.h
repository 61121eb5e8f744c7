// SPDX-License-Identifier: Apache-2.0
// One schedule of a pool that two processes on two nodes share: concurrent and repeated calls from
// both, lost answers, killed drivers, nodes that die or are cut off and return, and virtual time,
// which decides when another process's unfinished creation is taken over. The promises of
// docs/on-disk.md are checked before every step.
#pragma once

#include <string>
#include <vector>

#include "pool/volume_lifecycle.h"
#include "simulator/cluster_volumes.h"

namespace holdfast::simulator {

class ClusterWorld final {
 public:
  ClusterWorld(std::uint64_t seed, bool trace);

  // True if every promise was kept; otherwise `problem` has the first broken one.
  bool Run();
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  static constexpr int kNodes = 2;
  // The knowledge of the orchestrator and the users about a name.
  struct Claim {
    VolumeSpec spec;
    VolumeId id;
    bool created = false;
    bool deleting = false;
    Bytes size = 0;
    std::string data;
    int node = -1;      // where its users are
    int in_flight = 0;  // calls of any process
    std::vector<bool> locked = std::vector<bool>(kNodes);
  };
  class NodeFaults;
  struct Call;

  void ActOn(int node);
  void Act(NodeFaults& faults, Claim& claim);
  void Create(NodeFaults& faults, Claim& claim);
  void Delete(NodeFaults& faults, Claim& claim);
  void Grow(NodeFaults& faults, Claim& claim);
  void Stage(NodeFaults& faults, Claim& claim);
  void Unstage(int node, Claim& claim);
  void Repair(NodeFaults& faults, Claim& claim);
  absl::Status Format(Call& call, NodeFaults& faults, Claim& claim,
                      const pool::VolumeRecord& record);
  absl::Status Write(int node, Claim& claim);
  void DisturbNodes();
  void Quiesce();
  void Check();
  void CheckClaim(const Claim& claim);
  void CheckAtRest();
  void Fail(std::string what);
  void Trace(const std::string& line) const;
  [[nodiscard]] bool Chance(double probability);
  [[nodiscard]] Bytes SomeSize();
  [[nodiscard]] Image* Writable(int node, const Claim& claim);

  Random random_;
  const bool trace_;
  double error_rate_ = 0, kill_rate_ = 0, outage_rate_ = 0;
  Cluster cluster_;
  std::vector<Claim> claims_;
  std::vector<ClusterDevices> devices_ = std::vector<ClusterDevices>(kNodes);
  std::vector<bool> alive_ = std::vector<bool>(kNodes, true);  // as the cluster sees a node
  std::vector<int> epochs_ = std::vector<int>(kNodes);         // of a node's driver process
  Fibers* fibers_ = nullptr;
  bool quiet_ = false;
  std::string problem_;
  std::uint64_t calls_ = 0;
  std::uint64_t tokens_ = 0;
};

}  // namespace holdfast::simulator
