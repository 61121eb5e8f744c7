// SPDX-License-Identifier: Apache-2.0
// A kind of pool, as the table of kinds (server/pool_kinds.cc) has it: all that the rest of the
// program needs to know of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/pool_config.h"
#include "os/device_owner.h"
#include "pool/pool.h"
#include "pool/quiesce.h"
#include "state/undo_files.h"

namespace holdfast::pool {

// The process that opens the pools.
struct Process {
  std::string node_id;
  bool is_controller = true;  // it looks after whole pools; others only after their own devices
  // It is a node. One that is not has no devices, whatever the sysfs of its host shows (which is
  // not namespaced), and holds no volume, whatever its node_id is.
  bool has_devices = true;
  bool attach = false;  // a volume is published to a node before MapDevice there
  int state_directory_fd = -1;
  std::string boot_id;                 // of this node, now
  const state::UndoFiles& undo_files;  // outlive the pools
  Quiesce quiesce;                     // may be called as long as the pools live
};

struct PoolKind {
  const PoolSyntax* syntax;

  // Opens a pool of this kind, by one thread at a time. Does not wait for storage that is not there
  // (Pool::WaitUntilOpened does). The state directory's descriptor is open during the call only.
  // FAILED_PRECONDITION when the host lacks what every such pool needs.
  absl::StatusOr<std::unique_ptr<Pool>> (*open)(const PoolConfig& config, const Process& process);

  os::DeviceProof proof;

  // FAILED_PRECONDITION, with the remedy, if this node cannot make devices of such pools. Null:
  // nothing to check. Cheap; thread-safe.
  absl::Status (*check_node)();

  // Gives back what ended volumes leave in the kernel; called at the start, also after a kill, and
  // at the end. Null: nothing is left.
  void (*retire_idle_devices)();

  // For `holdfast doctor`; both change nothing. The host, for pools of this kind (null: nothing to
  // examine) ...
  std::vector<Finding> (*examine_host)();
  // ... and one pool. `state_dir` is the state directory of the process that serves it.
  std::vector<Finding> (*examine_pool)(const PoolConfig& pool, const std::string& state_dir);
};

}  // namespace holdfast::pool
