// SPDX-License-Identifier: Apache-2.0
#include "node/mount_teardown.h"

#include <sys/stat.h>

#include <algorithm>

#include "fs/filesystem.h"
#include "os/file.h"
#include "os/freeze.h"
#include "os/mounter.h"

namespace holdfast::node {
namespace {

using os::DeviceOwner;
using os::DeviceOwners;
using os::MountEntry;
using os::MountTable;

constexpr int kMaxLayers = 64;

// The topmost mount at a path.
struct Layer {
  dev_t device = 0;
  bool node = false;  // the device's node is mounted, not a filesystem
  DeviceOwner owner;
};

enum class Verdict { kOwn, kAnother, kForeign };

// By its place in the filesystem: at the top (devtmpfs, tmpfs) or below a "dev".
std::string NodeNameIn(const DeviceOwners& devices, const MountEntry& entry) {
  std::string name = entry.root.substr(entry.root.rfind('/') + 1);
  return devices.MayHaveName(name) ? name : "";
}

absl::StatusOr<DeviceOwner> OwnerOf(const DeviceOwners& devices, const MountEntry& entry) {
  ASSIGN_OR_RETURN(DeviceOwner owner, devices.OwnerOf(entry.device));
  const std::string node = NodeNameIn(devices, entry);
  if (owner.kind == DeviceOwner::Kind::kVolume || node.empty()) return owner;
  return devices.OwnerOf(node);
}

// `handle` is what is open at the path: no program can put another path under the name in between.
absl::StatusOr<Layer> LayerBehind(const DeviceOwners& devices, const os::UniqueFd& handle,
                                  const std::string& path) {
  Layer layer;
  struct stat facts {};
  if (::fstat(handle.get(), &facts) == 0 && S_ISBLK(facts.st_mode)) {
    layer.node = true;
    layer.device = facts.st_rdev;
  } else if (const auto behind = os::DeviceBehind(handle.get(), path); behind.ok()) {
    layer.device = *behind;
  } else {  // a filesystem that answers nothing any more
    ASSIGN_OR_RETURN(const int id, os::MountIdOf(handle.get()));
    ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
    const MountEntry* const entry = mounts.WithId(id);
    if (entry == nullptr) return Aborted("what is mounted at '{}' is changing", path);
    layer.device = entry->device;
  }
  ASSIGN_OR_RETURN(layer.owner, devices.OwnerOf(layer.device));
  return layer;
}

Verdict Classify(const Layer& layer, const Teardown& teardown) {
  const DeviceOwner& owner = layer.owner;
  if (owner.IsOf(teardown.uuid)) return Verdict::kOwn;
  if (owner.kind == DeviceOwner::Kind::kNobody) {
    // It shows no volume, so it may be unmounted unless the records give it to another volume.
    const Claims claims = teardown.ask_records();
    return claims.own || claims.others.empty() ? Verdict::kOwn : Verdict::kAnother;
  }
  if (layer.node) {
    // Our node, whose number belongs to another device by now.
    const Claims claims = teardown.ask_records();
    const bool owners = std::ranges::find(claims.others, owner.uuid) != claims.others.end();
    if (claims.own && !owners) return Verdict::kOwn;
  }
  return owner.kind == DeviceOwner::Kind::kVolume ? Verdict::kAnother : Verdict::kForeign;
}

// FAILED_PRECONDITION if a mount of the volume is below the topmost one at the path.
absl::Status RequireNotCovered(const os::RequestPath& target, const Teardown& teardown) {
  ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
  for (const MountEntry& entry : mounts.entries()) {
    if (entry.target != target.path()) continue;
    const auto owner = OwnerOf(teardown.devices, entry);
    if (!owner.ok() || !owner->IsOf(teardown.uuid)) continue;
    return FailedPrecondition(
        "the volume is mounted at '{}', but another volume is mounted on top of it, which has to "
        "go first",
        target.path());
  }
  return absl::OkStatus();
}

absl::Status Foreign(const os::RequestPath& target) {
  ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
  const MountEntry* const entry = mounts.At(target.path());
  return FailedPrecondition("'{}' is mounted at '{}', which is not a volume: it is left alone",
                            entry == nullptr ? "something" : entry->source, target.path());
}

// FAILED_PRECONDITION if the filesystem is seen at another place than this.
absl::Status RequireMountedHereOnly(const os::RequestPath& target, dev_t device) {
  ASSIGN_OR_RETURN(const MountTable mounts, MountTable::Read());
  const MountEntry* const here = mounts.At(target.path());
  for (const MountEntry* const entry : mounts.OfDevice(device)) {
    if (here == nullptr || entry->target == target.path() || mounts.AreOnePlace(*entry, *here)) {
      continue;
    }
    return FailedPrecondition("'{}' is in use: it is mounted at '{}' too", here->source,
                              entry->target);
  }
  return absl::OkStatus();
}

// A filesystem that cannot even be opened (its disk has failed) is taken away as it is.
absl::Status ThawBehind(const os::UniqueFd& handle) {
  const auto root = os::OpenDirectoryAt(handle.get(), ".");
  return root.ok() ? os::Thaw(root->get()) : absl::OkStatus();
}

// Whose the topmost mount is; if the volume's, it is ready to go. The handle is closed before the
// unmount, because it keeps the mount busy.
absl::StatusOr<Verdict> PrepareUnmount(const os::RequestPath& target, const Teardown& teardown,
                                       bool staged) {
  ASSIGN_OR_RETURN(const os::UniqueFd handle, target.OpenHandle());
  ASSIGN_OR_RETURN(const Layer layer, LayerBehind(teardown.devices, handle, target.path()));
  const Verdict verdict = Classify(layer, teardown);
  if (!staged || verdict != Verdict::kOwn || layer.node) return verdict;
  RETURN_IF_ERROR(RequireMountedHereOnly(target, layer.device));
  RETURN_IF_ERROR(Annotate(ThawBehind(handle), target.path()));
  fs::AwaitGrowth(layer.device);
  return verdict;
}

absl::StatusOr<bool> UnmountAll(const os::RequestPath& target, const Teardown& teardown,
                                bool staged) {
  for (int layer = 0; layer < kMaxLayers; ++layer) {
    if (target.HasNoMount()) return true;
    const auto verdict = PrepareUnmount(target, teardown, staged);
    if (absl::IsNotFound(verdict.status())) return true;
    RETURN_IF_ERROR(verdict.status());
    if (*verdict == Verdict::kForeign) return Foreign(target);
    if (*verdict == Verdict::kAnother) {
      RETURN_IF_ERROR(RequireNotCovered(target, teardown));
      return false;
    }
    RETURN_IF_ERROR(os::Unmount(target));
  }
  return Internal("more than {} mounts are stacked at '{}'", kMaxLayers, target.path());
}

}  // namespace

absl::StatusOr<bool> UnmountVolume(const os::RequestPath& target, const Teardown& teardown) {
  return UnmountAll(target, teardown, /*staged=*/false);
}

absl::StatusOr<bool> UnmountStaged(const os::RequestPath& target, const Teardown& teardown) {
  return UnmountAll(target, teardown, /*staged=*/true);
}

bool IsShownAt(const DeviceOwners& devices, const os::RequestPath& target,
               const std::string& uuid) {
  if (target.HasNoMount()) return false;
  const auto handle = target.OpenHandle();
  if (!handle.ok()) return false;
  const auto layer = LayerBehind(devices, *handle, target.path());
  return layer.ok() && layer->owner.IsOf(uuid);
}

bool MayShow(const DeviceOwners& devices, const MountEntry& entry, const std::string& uuid) {
  if (!NodeNameIn(devices, entry).empty()) return true;
  const auto owner = OwnerOf(devices, entry);
  return !owner.ok() || owner->IsOf(uuid);
}

}  // namespace holdfast::node
