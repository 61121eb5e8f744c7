// SPDX-License-Identifier: Apache-2.0
#include "file/file_checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "core/disk_names.h"
#include "file/eviction.h"
#include "file/file_pool.h"
#include "file/pool_directory.h"
#include "file/volume_damage.h"
#include "os/file.h"
#include "os/host_filesystem.h"
#include "os/unique_fd.h"
#include "pool/space_policy.h"

namespace holdfast::file {
namespace {

// Of direct I/O to files that share blocks.
constexpr std::uint32_t kBlockOfHost = 4096;

// A warning where a legitimate claim could make the kubelet remove images and evict pods; OK where
// the pool has a filesystem of its own, or this host has no kubelet.
Finding CheckEviction(const std::string& pool, int root_fd, const pool::SpacePolicy& policy) {
  Finding finding{.what = pool + ", eviction",
                  .why =
                      "kubelet removes images and evicts pods when too little of the disk that it "
                      "watches is free, and volumes may fill it up to the pool's reserve"};
  const auto space = os::MeasureFilesystem(root_fd);
  if (!space.ok()) {
    finding.found = fmt::format("not known: {}", MessageOf(space.status()));
    return finding;
  }
  const std::optional<std::string> watched = WatchedOnFilesystemOf(root_fd);
  if (!watched) {
    finding.found = "no kubelet shares the pool's filesystem";
    return finding;
  }
  const auto total = static_cast<double>(space->total);
  const double reserve =
      std::max(static_cast<double>(policy.reserve_bytes) / total, policy.reserve_fraction);
  const EvictionThreshold wanted = FindEvictionThreshold(space->total);
  finding.found = fmt::format(
      "shares a filesystem with {}, {:.0f} % of it is in reserve, and kubelet wants {:.0f} % free "
      "({})",
      *watched, 100 * reserve, 100 * wanted.free, wanted.source);
  if (reserve > wanted.free) return finding;
  finding.level = FindingLevel::kWarning;
  finding.remedy = fmt::format("give the pool a filesystem of its own, or a reserve of {:.0f} %",
                               100 * std::max(kReserveBesideKubelet, wanted.free + 0.05));
  return finding;
}

absl::StatusOr<PoolMarker> ReadKnownMarker(const std::string& state_dir, const std::string& pool) {
  ASSIGN_OR_RETURN(const os::UniqueFd known,
                   os::OpenDirectory(fmt::format("{}/{}", state_dir, kKnownPoolsName)));
  return ReadPoolMarker(known.get(), pool + ".json");
}

Finding Missing(Finding finding, std::string found, std::string remedy) {
  finding.level = FindingLevel::kMissing;
  finding.found = std::move(found);
  finding.remedy = std::move(remedy);
  return finding;
}

Finding CheckWithoutMarker(Finding finding, int root_fd, const absl::StatusOr<PoolMarker>& known) {
  if (known.ok()) {
    return Missing(std::move(finding),
                   fmt::format("no marker, but pool {} was here before", known->pool_id),
                   "mount the pool's disk there");
  }
  const absl::StatusOr<std::string> foreign = FindForeignName(root_fd);
  if (!foreign.ok()) {
    return Missing(std::move(finding), MessageOf(foreign.status()), "run this as root");
  }
  if (!foreign->empty()) {
    return Missing(std::move(finding),
                   fmt::format("no marker, and '{}' is there already", *foreign),
                   "give a directory of its own; an old pool needs its disk mounted there");
  }
  finding.found = "empty: the first start makes a new pool";
  return finding;
}

Finding CheckMarker(Finding finding, const std::string& pool, int root_fd,
                    const absl::StatusOr<PoolMarker>& known) {
  const absl::StatusOr<PoolMarker> marker = ReadPoolMarker(root_fd);
  if (absl::IsNotFound(marker.status())) {
    return CheckWithoutMarker(std::move(finding), root_fd, known);
  }
  if (!marker.ok()) {
    return Missing(
        std::move(finding), MessageOf(marker.status()),
        "run this as root; if the marker is damaged, restore it from the state directory");
  }
  if (known.status().code() == absl::StatusCode::kInternal) {
    return Missing(
        std::move(finding),
        fmt::format("the state directory's copy, pools/{}.json: {}", pool,
                    MessageOf(known.status())),
        fmt::format("run this as root; if that file is damaged, copy the pool's {} there",
                    kPoolMarkerName));
  }
  if (known.ok() && known->pool_id != marker->pool_id) {
    return Missing(std::move(finding),
                   fmt::format("pool {}, but the state directory knows pool {}", marker->pool_id,
                               known->pool_id),
                   "mount the right disk there, or give this pool another name");
  }
  const auto filesystem = os::FilesystemIdentity(root_fd);
  if (filesystem.ok() && *filesystem != marker->filesystem) {
    return Missing(std::move(finding),
                   fmt::format("pool {} of filesystem {}, but this is {}", marker->pool_id,
                               marker->filesystem, *filesystem),
                   "mount the pool's own disk; if it was copied here on purpose, see 'moving a "
                   "pool' in docs/operations.md");
  }
  finding.found = fmt::format("pool {}", marker->pool_id);
  return finding;
}

Finding CheckDirectIo(const std::string& what, const absl::StatusOr<os::DirectIoSupport>& support) {
  Finding finding{.what = what + ", direct I/O",
                  .why =
                      "without it every byte is in memory twice and a volume's writes wait for "
                      "the host's page cache"};
  if (support.ok() && support->direct_io) {
    finding.found = fmt::format("in units of {} bytes", support->sector_size);
    return finding;
  }
  if (!support.ok()) {
    return Missing(std::move(finding), MessageOf(support.status()),
                   "run this as root; a filesystem that went read-only after an error (see the "
                   "kernel's log) has to be checked and mounted again");
  }
  finding.level = FindingLevel::kWarning;
  finding.found = "not on this filesystem";
  finding.remedy = "put the pool on ext4, xfs or btrfs";
  return finding;
}

// What the sectors of new volumes mean for their snapshots.
std::string NewVolumes(bool shares_blocks, const os::DirectIoSupport& direct_io,
                       const PoolKeys& keys) {
  const auto given = ParseSectorSize(keys).value_or(std::nullopt);
  const std::uint32_t size = given.value_or(BestSectorSize(shares_blocks, direct_io));
  const bool loses = shares_blocks && direct_io.direct_io && size < kBlockOfHost;
  return fmt::format(
      "; new volumes have sectors of {} bytes{}", size,
      loses ? ", as sectorSize asks, and lose direct I/O with their first snapshot" : "");
}

Finding CheckSnapshots(const std::string& what, int root_fd,
                       const absl::StatusOr<os::DirectIoSupport>& direct_io, const PoolKeys& keys) {
  Finding finding{.what = what + ", snapshots",
                  .why =
                      "where files can share blocks, snapshots and clones take milliseconds, "
                      "also of volumes in use"};
  if (!direct_io.ok()) {
    finding.found = "not known: no file can be made here";
    return finding;
  }
  const bool shares = os::CanShareBlocks(root_fd);
  finding.found = (shares ? "by sharing blocks, in milliseconds, also of volumes in use"
                          : "by copying; a volume in use is frozen meanwhile, or refused if that "
                            "takes longer than maxFreeze") +
                  NewVolumes(shares, *direct_io, keys);
  if (shares) return finding;
  finding.level = FindingLevel::kWarning;
  finding.remedy =
      "if snapshots are wanted, put the pool on xfs as mkfs.xfs makes it (reflink=1), or on btrfs; "
      "'moving a pool' in docs/operations.md says how";
  return finding;
}

Finding CheckSpace(const std::string& what, int root_fd, const pool::SpacePolicy& policy) {
  Finding finding{.what = what + ", space",
                  .why = "volumes are made of what is free above the reserve"};
  const auto space = os::MeasureFilesystem(root_fd);
  if (!space.ok())
    return Missing(std::move(finding), MessageOf(space.status()), "run this as root");
  const auto part = static_cast<Bytes>(policy.reserve_fraction * static_cast<double>(space->total));
  const Bytes reserve = std::max(policy.reserve_bytes, part);
  finding.found = fmt::format("{} of {} free, {} in reserve", FormatBytes(space->available),
                              FormatBytes(space->total), FormatBytes(reserve));
  if (space->read_only) {
    return Missing(std::move(finding), "the filesystem is read-only", "mount it read-write");
  }
  if (space->available > reserve) return finding;
  finding.level = FindingLevel::kWarning;
  finding.remedy = "free some space, add a disk, or lower the pool's reserve";
  return finding;
}

// One finding for all that is well, and one for each volume that is not.
std::vector<Finding> CheckVolumes(const std::string& what, const std::string& location,
                                  int root_fd) {
  Finding all{.what = what + ", volumes",
              .why = "each volume's record and image are compared with each other"};
  const auto examined = ExamineVolumes(root_fd);
  if (!examined.ok()) {
    return {Missing(std::move(all), MessageOf(examined.status()), "run this as root")};
  }
  all.found = fmt::format("{} of {} are whole", examined->volumes - examined->damage.size(),
                          examined->volumes);
  std::vector<Finding> findings = {std::move(all)};
  for (const VolumeDamage& damage : examined->damage) {
    findings.push_back(
        {.level = FindingLevel::kWarning,
         .what = fmt::format("{}, volume {}", what, damage.uuid),
         .found = damage.problem,
         .why =
             fmt::format("it cannot be used until '{}/{}/{}' is repaired; others are not affected",
                         location, kVolumesName, damage.uuid),
         .remedy = damage.remedy});
  }
  return findings;
}

// A loop device without a file, "loop3"; empty when there is none.
std::string IdleLoopDevice() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/block", error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("loop") || std::filesystem::exists(entry.path() / "loop", error))
      continue;
    if (std::filesystem::exists("/dev/" + name, error)) return name;
  }
  return {};
}

// 0, or the errno of opening.
int OpenError(const std::string& path, int flags) {
  const os::UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC));
  return file.valid() ? 0 : errno;
}

Finding CheckLoopDevices() {
  Finding finding{.what = "loop devices", .why = "a volume's image file becomes a device by one"};
  const auto missing = [&](std::string found, std::string remedy) {
    finding.level = FindingLevel::kMissing;
    finding.found = std::move(found);
    finding.remedy = std::move(remedy);
    return finding;
  };
  if (const int error = OpenError("/dev/loop-control", O_RDWR)) {
    return missing(fmt::format("/dev/loop-control cannot be opened: {}", std::strerror(error)),
                   error == ENOENT || error == ENXIO || error == ENODEV
                       ? "modprobe loop; in a container, give it the host's /dev"
                       : "run this as root; in a container, make it privileged");
  }
  const std::string idle = IdleLoopDevice();
  const int error = idle.empty() ? 0 : OpenError("/dev/" + idle, O_RDONLY);
  // Others attach and remove devices all the time; only a refusal will be the same for the next
  // one.
  if (error == EPERM || error == EACCES) {
    return missing(fmt::format("/dev/{} cannot be opened: {}", idle, std::strerror(error)),
                   "in a container, make it privileged: it may not use the host's block devices");
  }
  finding.found = "the driver is there and makes devices as they are needed";
  return finding;
}

}  // namespace

std::vector<Finding> ExamineHost() { return {CheckLoopDevices()}; }

std::vector<Finding> ExaminePool(const PoolConfig& pool, const std::string& state_dir) {
  const std::string what = fmt::format("pool '{}'", pool.name);
  Finding finding{
      .what = what + ", directory",
      .why = fmt::format("a marker in '{}' proves that it is the pool, and not the mount "
                         "point of a missing disk",
                         pool.location)};
  const auto root = os::OpenDirectory(pool.location);
  if (!root.ok()) {
    return {Missing(std::move(finding), MessageOf(root.status()),
                    fmt::format("mount its disk, or mkdir -p {}", pool.location))};
  }
  const auto space = pool::ParseSpacePolicy(pool.keys);
  const pool::SpacePolicy policy =
      WithReserveForKubelet(space.value_or(pool::SpacePolicy()), root->get());
  const auto direct_io = os::ProbeDirectIo(root->get());
  std::vector<Finding> findings = {CheckMarker(std::move(finding), pool.name, root->get(),
                                               ReadKnownMarker(state_dir, pool.name)),
                                   CheckDirectIo(what, direct_io),
                                   CheckSnapshots(what, root->get(), direct_io, pool.keys),
                                   CheckSpace(what, root->get(), policy)};
  std::ranges::move(CheckVolumes(what, pool.location, root->get()), std::back_inserter(findings));
  findings.push_back(CheckEviction(what, root->get(), policy));
  return findings;
}

}  // namespace holdfast::file
