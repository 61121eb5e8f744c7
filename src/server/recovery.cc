// SPDX-License-Identifier: Apache-2.0
#include "server/recovery.h"

#include <memory>
#include <utility>

#include "fs/filesystem.h"
#include "node/quiesced_volume.h"
#include "server/pool_kinds.h"

namespace holdfast::server {
namespace {

// A pool that is not there does not keep the others from their pods. Only where no pool can be
// served, and none ever was, there is nothing to wait for: only a start makes a new pool.
absl::Status WaitForPools(const pool::Pools& pools) {
  absl::Status missing;
  std::size_t never_seen = 0;
  for (pool::Pool* const pool : pools.all()) {
    const absl::Status opened = pool->WaitUntilOpened();
    if (!opened.ok() && !absl::IsNotFound(opened)) return opened;
    if (!opened.ok()) ++never_seen;
    missing.Update(opened);
  }
  if (never_seen == 0 || never_seen < pools.all().size()) return absl::OkStatus();
  return WithCode(missing, absl::StatusCode::kFailedPrecondition);
}

}  // namespace

absl::Status OpenPools(const Config& config, int state_directory_fd, ServerState& state) {
  const pool::Process process{.node_id = config.node_id,
                              .is_controller = config.role != Role::kNode,
                              .has_devices = config.role != Role::kController,
                              .attach = config.attach,
                              .state_directory_fd = state_directory_fd,
                              .boot_id = state.node.stages.boot_id(),
                              .undo_files = state.node.undo,
                              .quiesce = [&state](const VolumeId& id, const os::BlockDevice& device,
                                                  const CutOptions& options) {
                                return node::QuiesceVolume(state.node.stages, id, device, options,
                                                           state.freeze_observer);
                              }};
  for (const PoolConfig& pool : config.pools) {
    RETURN_IF_ERROR(Annotate(fs::RequireSupported(pool.default_filesystem),
                             fmt::format("pool '{}'", pool.name)));
    ASSIGN_OR_RETURN(auto opened, KindOf(pool).open(pool, process));
    RETURN_IF_ERROR(state.pools.Add(std::move(opened)));
  }
  return WaitForPools(state.pools);
}

absl::Status RecoverPools(const pool::Pools& pools) {
  for (pool::Pool* const pool : pools.all()) {
    RETURN_IF_ERROR(Annotate(pool->Recover(), fmt::format("pool '{}'", pool->info().name)));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::server
