// SPDX-License-Identifier: Apache-2.0
#include "server/pool_opening.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/filesystem.h"
#include "os/file.h"
#include "pool/awaited_pool.h"
#include "pool/file_pool.h"
#include "pool/pool_directory.h"
#include "rbd/rbd_pool.h"

namespace holdfast::server {
namespace {

// The pool, as soon as its disk is there. Nothing of the disk is touched here.
absl::StatusOr<std::unique_ptr<pool::AwaitedPool>> AwaitFilePool(const PoolConfig& config,
                                                                 const rbd::Process& process) {
  ASSIGN_OR_RETURN(os::UniqueFd own, os::OpenDirectoryAt(process.state_directory_fd, "."));
  const auto state = std::make_shared<os::UniqueFd>(std::move(own));
  pool::PoolInfo known{
      .id = pool::PoolDirectory::KnownId(config.name, state->get()).value_or(std::string()),
      .name = config.name,
      .kind = config.kind,
      .location = config.location,
      .node = process.node_id,
      .default_filesystem = config.default_filesystem};
  const std::string node = process.node_id;
  return std::make_unique<pool::AwaitedPool>(
      std::move(known),
      pool::AwaitedPool::Source{
          .open = [config, node, state](bool first) -> absl::StatusOr<std::unique_ptr<pool::Pool>> {
            return pool::FilePool::Open(config, node, state->get(), /*may_make=*/first);
          },
          .detach = pool::ImageDevices::UnmapAbsent});
}

// A pool that is not there does not keep the others from their pods. Only where no pool can be
// served, and none ever was, there is nothing to wait for: a new pool is made by a start alone.
absl::Status WaitForPools(const std::vector<pool::AwaitedPool*>& awaited, std::size_t pools) {
  absl::Status missing;
  std::size_t never_seen = 0;
  for (pool::AwaitedPool* const pool : awaited) {
    const absl::Status opened = pool->WaitUntilOpened();
    if (!opened.ok() && !absl::IsNotFound(opened)) return opened;
    if (!opened.ok()) ++never_seen;
    missing.Update(opened);
  }
  if (never_seen == 0 || never_seen < pools) return absl::OkStatus();
  return WithCode(missing, absl::StatusCode::kFailedPrecondition);
}

}  // namespace

absl::Status OpenPools(const Config& config, int state_directory_fd, ServerState& parts) {
  const rbd::Process process{.node_id = config.node_id,
                             .is_controller = config.role != Role::kNode,
                             .has_devices = config.role != Role::kController,
                             .attach = config.attach,
                             .state_directory_fd = state_directory_fd,
                             .boot_id = parts.node.stages.boot_id(),
                             .undo_files = parts.node.undo};
  const auto clusters = std::make_shared<rbd::Clusters>();
  std::vector<pool::AwaitedPool*> awaited;
  for (const PoolConfig& pool : config.pools) {
    if (fs::FindFilesystem(pool.default_filesystem) == nullptr) {
      return InvalidArgument("pool '{}': filesystem '{}' is not supported", pool.name,
                             pool.default_filesystem);
    }
    if (pool.kind == "rbd") {
      ASSIGN_OR_RETURN(auto opened, rbd::RbdPool::Open(pool, process, clusters));
      RETURN_IF_ERROR(parts.pools.Add(std::move(opened)));
      continue;
    }
    ASSIGN_OR_RETURN(auto file_pool, AwaitFilePool(pool, process));
    awaited.push_back(file_pool.get());
    RETURN_IF_ERROR(parts.pools.Add(std::move(file_pool)));
  }
  return WaitForPools(awaited, config.pools.size());
}

absl::Status RecoverPools(const pool::Pools& pools) {
  for (pool::Pool* const pool : pools.all()) {
    RETURN_IF_ERROR(Annotate(pool->Recover(), fmt::format("pool '{}'", pool->info().name)));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::server
