// SPDX-License-Identifier: Apache-2.0
#include "node/quiesced_volume.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "core/log.h"
#include "os/file.h"
#include "os/freeze.h"
#include "os/mount_table.h"
#include "os/thaw_guard.h"

namespace holdfast::node {
namespace {

using Clock = std::chrono::steady_clock;

struct MountedRoot {
  os::UniqueFd root;  // invalid: nothing is mounted
  bool can_freeze = false;
};

// The root of the filesystem on the device, through any mount that shows it.
absl::StatusOr<MountedRoot> OpenMounted(const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  for (const os::MountEntry* const entry : mounts.OfDevice(device.number)) {
    auto root = os::OpenDirectory(entry->target);
    if (!root.ok()) continue;
    const auto behind = os::DeviceBehind(root->get(), entry->target);
    // btrfs is never frozen (os/freeze.h): its copy is as after a power cut, and its log complete.
    if (behind.ok() && *behind == device.number) {
      return MountedRoot{std::move(*root), entry->filesystem != "btrfs"};
    }
  }
  return MountedRoot{};
}

class Frozen final : public pool::Quiet {
 public:
  Frozen(const state::StageStore& stages, std::optional<state::StageRecord> record,
         os::UniqueFd root, std::unique_ptr<os::ThawGuard> guard, std::chrono::milliseconds longest,
         Clock::time_point since, FreezeObserver observer)
      : stages_(stages),
        record_(std::move(record)),
        root_(std::move(root)),
        guard_(std::move(guard)),
        longest_(longest),
        since_(since),
        observer_(std::move(observer)) {}
  ~Frozen() override { End().IgnoreError(); }

  absl::Status End() override {
    if (!root_.valid()) return absl::OkStatus();
    const absl::StatusOr<bool> thawed = os::EndFreeze(root_.get());
    const auto lasted = Clock::now() - since_;
    const bool held = guard_->Release() && thawed.value_or(false);
    if (observer_) observer_(held ? lasted : std::min<Clock::duration>(lasted, longest_), held);
    root_ = os::UniqueFd();
    if (record_) {
      record_->freezing = false;
      const absl::Status unmarked = stages_.Write(*record_);
      if (!unmarked.ok()) LogWarning("after a freeze: {}", MessageOf(unmarked));
    }
    RETURN_IF_ERROR(thawed.status());
    if (held) return absl::OkStatus();
    return Aborted(
        "the copy took longer than {} ms, the longest time for which the filesystem may be frozen, "
        "or another program ended the freeze; it is void; try again",
        longest_.count());
  }

 private:
  const state::StageStore& stages_;
  std::optional<state::StageRecord> record_;
  os::UniqueFd root_;
  std::unique_ptr<os::ThawGuard> guard_;
  const std::chrono::milliseconds longest_;
  const Clock::time_point since_;
  const FreezeObserver observer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<pool::Quiet>> QuiesceVolume(const state::StageStore& stages,
                                                           const VolumeId& id,
                                                           const os::BlockDevice& device,
                                                           const CutOptions& options,
                                                           const FreezeObserver& observer) {
  ASSIGN_OR_RETURN(MountedRoot mounted, OpenMounted(device));
  os::UniqueFd& root = mounted.root;
  if (!root.valid()) return nullptr;
  // Most of what is dirty is written while the writers go on.
  if (::syncfs(root.get()) != 0) return OsError(errno, "cannot sync the filesystem");
  if (!mounted.can_freeze || !options.freeze) return nullptr;
  std::optional<state::StageRecord> record;
  if (auto found = stages.Find(id.ToString()); found.ok()) record = *std::move(found);
  ASSIGN_OR_RETURN(std::unique_ptr<os::ThawGuard> guard,
                   os::ThawGuard::Start(root.get(), options.longest_freeze));
  if (record) {
    record->freezing = true;
    RETURN_IF_ERROR(stages.Write(*record));
  }
  const auto since = Clock::now();
  const absl::Status frozen = os::Freeze(root.get());
  if (frozen.ok()) {
    return std::make_unique<Frozen>(stages, std::move(record), std::move(root), std::move(guard),
                                    options.longest_freeze, since, observer);
  }
  (void)guard->Release();
  if (record) {
    record->freezing = false;
    RETURN_IF_ERROR(stages.Write(*record));
  }
  return frozen;
}

}  // namespace holdfast::node
