// SPDX-License-Identifier: Apache-2.0
// The objects that serve one call of a schedule in a shared pool.
#pragma once

#include <fmt/format.h>

#include "simulator/cluster_world.h"
#include "simulator/virtual_clock.h"

namespace holdfast::simulator {

// Of one call of one node's driver; the call dies with the process that it began in.
class ClusterWorld::NodeFaults final : public Faults {
 public:
  NodeFaults(ClusterWorld& world, int node)
      : world_(world), node_(node), epoch_(world.epochs_[node]) {}

  [[nodiscard]] int node() const { return node_; }
  [[nodiscard]] bool is_dead() const { return epoch_ != world_.epochs_[node_]; }

  Fault At(const char* name, const std::string& uuid) override {
    if (world_.fibers_ != nullptr) world_.fibers_->Yield();
    if (is_dead()) throw Killed();
    virtual_now += absl::Milliseconds(world_.Chance(0.1) ? 1500 : 10);
    if (world_.Chance(0.005)) virtual_now += absl::Minutes(31);
    world_.Check();
    Fault fault = Fault::kNone;
    if (!world_.quiet_) {
      world_.DisturbNodes();
      if (is_dead()) throw Killed();
      const bool done = world_.Chance(0.5);
      if (world_.Chance(world_.error_rate_)) fault = done ? Fault::kErrorDone : Fault::kError;
      if (world_.Chance(world_.kill_rate_)) fault = done ? Fault::kKillDone : Fault::kKill;
    }
    constexpr const char* kNames[] = {"", "no answer", "no answer, done", "kill", "kill, done"};
    world_.Trace(fmt::format("  node {} {} {} {}", node_, uuid.substr(0, 8), name,
                             kNames[static_cast<int>(fault)]));
    return fault;
  }

  void After(Fault fault) override {
    if (fault != Fault::kKill && fault != Fault::kKillDone) return;
    ++world_.epochs_[node_];
    throw Killed();
  }

 private:
  ClusterWorld& world_;
  const int node_;
  const int epoch_;
};

struct ClusterWorld::Call {
  Call(ClusterWorld& world, NodeFaults& faults)
      : records(world.cluster_, faults),
        backend(world.cluster_, faults.node(), world.devices_[faults.node()], records,
                world.devices_, world.alive_, faults),
        space(world.cluster_),
        volumes(records, backend, space, VirtualNow) {}
  ClusterRecords records;
  ClusterBackend backend;
  ClusterSpace space;
  pool::VolumeLifecycle volumes;
};

}  // namespace holdfast::simulator
