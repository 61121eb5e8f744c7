// SPDX-License-Identifier: Apache-2.0
#include "controller/superseded_volumes.h"

#include <chrono>
#include <set>

#include "controller/node_calls.h"
#include "controller/parameters.h"
#include "controller/placement.h"
#include "controller/volume_requests.h"
#include "core/log.h"

namespace holdfast::controller {
namespace {

constexpr std::chrono::seconds kInterval{3};
constexpr std::chrono::seconds kDeletionPatience{5};
// A node may start the creation, which it received first, after the deletion. Until the next
// round it has either ended or holds the volume's lock.
constexpr int kDeletions = 2;

}  // namespace

SupersededVolumes::~SupersededVolumes() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void SupersededVolumes::Add(const link::VolumeNames::Superseded& volume) {
  LogWarning("volume '{}' is given up on node '{}', which was to make it and has not answered",
             volume.name, volume.node);
  hub_.names().Supersede(volume);
  const MutexLock lock(mutex_);
  if (!thread_.joinable() && !ending_) thread_ = std::thread([this] { Run(); });
}

absl::Status SupersededVolumes::Delete(const link::VolumeNames::Superseded& volume,
                                       link::Deadline deadline) {
  const std::vector<link::NodeView> nodes = hub_.Nodes({volume.node});
  if (nodes.empty()) return Unavailable("node '{}' is not connected", volume.node);
  std::vector<std::string> names;
  if (!volume.pool.empty()) {
    ASSIGN_OR_RETURN(names, ParsePoolNames(volume.pool));
  }
  const auto pools = PoolsNamed(nodes.front(), names);
  if (pools.empty() || pools.size() < names.size()) {
    return Unavailable("node '{}' lacks a pool of '{}' now", volume.node, volume.pool);
  }
  for (const link::v1::Pool* const pool : pools) {
    ASSIGN_OR_RETURN(const VolumeId id, IdForName(nodes.front(), *pool, volume.name));
    RETURN_IF_ERROR(DeleteOne(volume, id, deadline));
  }
  return absl::OkStatus();
}

absl::Status SupersededVolumes::DeleteOne(const link::VolumeNames::Superseded& volume,
                                          const VolumeId& id, link::Deadline deadline) {
  csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(id.ToString());
  const auto answer = nodes_.Ask(volume.node, request, deadline);
  if (!absl::IsNotFound(answer.status())) {
    RETURN_IF_ERROR(answer.status());
    csi::v1::DeleteVolumeResponse deleted;
    RETURN_IF_ERROR(ParseAnswer(volume.node, *answer, deleted));
  }
  hub_.names().Deleted(id);
  return absl::OkStatus();
}

void SupersededVolumes::Run() {
  MutexLock lock(mutex_);
  while (!changed_.WaitFor(lock, kInterval,
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_; })) {
    lock.Unlock();
    DeleteWhatCanBe();
    lock.Lock();
  }
}

void SupersededVolumes::DeleteWhatCanBe() {
  std::set<std::string> silent;  // nodes, in this round
  for (const auto& volume : hub_.names().AllSuperseded()) {
    if (silent.contains(volume.node) || hub_.Nodes({volume.node}).empty()) continue;
    const auto guard = volume_locks_.TryLockInBackground(NameKey(volume.name), "deletion");
    if (!guard || !hub_.names().FindSuperseded(volume.name, volume.node)) continue;
    const absl::Status deleted = Delete(volume, link::Deadline::clock::now() + kDeletionPatience);
    const auto [deletions, is_first] = deletions_.try_emplace(volume, 0);
    if (!deleted.ok()) {
      if (absl::IsDeadlineExceeded(deleted)) silent.insert(volume.node);
      if (!is_first) continue;
      LogWarning("volume '{}', given up on node '{}', is not deleted yet: {}", volume.name,
                 volume.node, MessageOf(deleted));
      continue;
    }
    if (++deletions->second < kDeletions) continue;
    deletions_.erase(volume);
    hub_.names().SupersededIsGone(volume);
    LogInfo("volume '{}', given up on node '{}', is deleted there", volume.name, volume.node);
  }
}

}  // namespace holdfast::controller
