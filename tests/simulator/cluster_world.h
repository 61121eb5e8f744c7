// SPDX-License-Identifier: Apache-2.0
// One schedule of a pool that two processes on two nodes share: concurrent and repeated calls from
// both, lost answers, killed drivers, nodes that die or are cut off and return, and virtual time,
// which decides when another process's unfinished creation is taken over. The promises of
// docs/on-disk.md are checked before every step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pool/volume_lifecycle.h"
#include "simulator/cluster_volumes.h"
#include "simulator/copied_volumes.h"
#include "simulator/fibers.h"

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
    std::vector<Content> history = {};  // what its bytes have held, one after the other
    // Of a copy: its source among the claims; nothing if the bytes come from another pool.
    std::optional<std::size_t> source = {};
    std::size_t since = 0;    // in the source's history: when the creation began
    bool complete = false;    // the creation was seen to be over
    int bringing_epoch = -1;  // of the process that brings its bytes
    [[nodiscard]] bool is_copy() const { return spec.source.has_value(); }
    [[nodiscard]] bool is_snapshot() const { return spec.role == VolumeRole::kSnapshot; }
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
  // cluster_copies.cc
  void AddCopies(std::uint64_t seed);
  void Offer();
  void CreateCopy(NodeFaults& faults, Claim& claim);
  void Arrive(NodeFaults& faults, Claim& claim);
  absl::Status Bring(NodeFaults& faults, Claim& claim);
  absl::Status Adopt(Call& call, NodeFaults& faults, Claim& claim,
                     const pool::VolumeRecord& record);
  void Observe();
  void Observe(Claim& claim);
  void CheckCopy(Claim& claim, const Image& image);
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
  std::vector<Content> offered_;  // by a snapshot in another pool, and by its successors
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
