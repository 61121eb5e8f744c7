// SPDX-License-Identifier: Apache-2.0
// The objects that serve one call of a schedule.
#pragma once

#include "simulator/virtual_clock.h"
#include "simulator/world.h"

namespace holdfast::simulator {

struct World::Call {
  explicit Call(World& world)
      : records(world.machine_, world.process_->listed, world),
        backend(world.machine_, world, world.can_share_),
        space(world.machine_, world.process_->ledger),
        volumes(records, backend, space, VirtualNow) {}
  MemoryRecords records;
  CopyingBackend backend;
  MemorySpace space;
  pool::VolumeLifecycle volumes;
};

}  // namespace holdfast::simulator
