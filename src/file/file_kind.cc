// SPDX-License-Identifier: Apache-2.0
#include "file/file_kind.h"

#include <algorithm>
#include <array>
#include <utility>

#include "file/file_checks.h"
#include "file/file_pool.h"
#include "file/image_devices.h"
#include "file/loop_label.h"
#include "file/pool_directory.h"
#include "os/file.h"
#include "os/loop_device.h"
#include "pool/awaited_pool.h"
#include "pool/space_policy.h"
#include "pool/trash_policy.h"

namespace holdfast::file {
namespace {

absl::Status Check(const std::string& location, const PoolKeys& keys) {
  if (!location.starts_with('/')) {
    return InvalidArgument("directory '{}' must be an absolute path", location);
  }
  RETURN_IF_ERROR(ParseSectorSize(keys).status());
  RETURN_IF_ERROR(pool::ParseTrashPolicy(keys).status());
  return pool::ParseSpacePolicy(keys).status();
}

constexpr std::array kKeys = [] {
  std::array<PoolKey, pool::kSpaceKeys.size() + pool::kTrashKeys.size() + 1> keys{};
  const auto after = std::ranges::copy(pool::kSpaceKeys, keys.begin()).out;
  std::ranges::copy(pool::kTrashKeys, after);
  keys.back() = PoolKey{kSectorSizeKey};
  return keys;
}();

constexpr PoolSyntax kSyntax{.kind = "file",
                             .location = "DIRECTORY",
                             .help = R"(Image files: --pool=NAME=file:DIRECTORY, with the keys
reserve=10Gi or 5% (room kept for the host; 5%, or 20% on a disk that kubelet uses),
overcommit=1.5 (thin bytes provisioned per byte of room; 1),
watermark=90% (no more thin space above this use; 90%),
sectorSize=512 or 4096 (of new volumes; what suits the disk),
keepDeleted=24h (how long deleted volumes are kept; 0),
trash=reclaim (purge them early for new volumes; keep).)",
                             .keys = kKeys,
                             .is_shared = false,
                             .check = Check};

// The pool, as soon as its disk is there. Nothing on the disk is touched here.
absl::StatusOr<std::unique_ptr<pool::Pool>> Await(const PoolConfig& config,
                                                  const pool::Process& process) {
  ASSIGN_OR_RETURN(os::UniqueFd own, os::OpenDirectoryAt(process.state_directory_fd, "."));
  const auto state = std::make_shared<os::UniqueFd>(std::move(own));
  pool::PoolInfo known{
      .id = PoolDirectory::KnownId(config.name, state->get()).value_or(std::string()),
      .name = config.name,
      .kind = config.kind(),
      .location = config.location,
      .node = process.node_id,
      .default_filesystem = config.default_filesystem};
  const std::string node = process.node_id;
  const pool::Quiesce quiesce = process.quiesce;
  return std::make_unique<pool::AwaitedPool>(
      std::move(known),
      pool::AwaitedPool::Source{
          .open = [config, node, state,
                   quiesce](bool first) -> absl::StatusOr<std::unique_ptr<pool::Pool>> {
            return FilePool::Open(config, node, state->get(), quiesce, /*may_make=*/first);
          },
          .detach = ImageDevices::UnmapAbsent});
}

}  // namespace

const PoolSyntax& FileSyntax() { return kSyntax; }

pool::PoolKind FileKind() {
  return {.syntax = &FileSyntax(),
          .open = Await,
          .proof = LoopProof(),
          .check_node = os::RequireLoopDriver,
          .retire_idle_devices = os::RetireIdleLoops,
          .examine_host = ExamineHost,
          .examine_pool = ExaminePool};
}

}  // namespace holdfast::file
