// SPDX-License-Identifier: Apache-2.0
#include "node/volume_stats.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "fs/filesystem.h"
#include "fs/mounted_volumes.h"
#include "os/descriptor_gates.h"
#include "os/mount_table.h"
#include "os/request_path.h"

namespace holdfast::node {
namespace {

absl::Status NotAtPath(const VolumeId& id, const std::string& path) {
  return NotFound("volume '{}' is not at '{}'", id.ToString(), path);
}

// What the filesystem at the path reports.
struct Answer {
  bool at_path = false;
  bool dead = false;  // it gave an error
  std::optional<os::FilesystemSpace> space{};
};

// From the mount entry: the filesystem itself does not answer.
absl::StatusOr<bool> IsMountOf(const os::UniqueFd& handle, const os::BlockDevice& device) {
  ASSIGN_OR_RETURN(const int id, os::MountIdOf(handle.get()));
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  const os::MountEntry* const entry = mounts.WithId(id);
  return entry != nullptr && entry->device == device.number;
}

bool IsNodeOf(const os::UniqueFd& handle, const os::BlockDevice& device) {
  struct stat facts {};
  return ::fstat(handle.get(), &facts) == 0 && S_ISBLK(facts.st_mode) &&
         facts.st_rdev == device.number;
}

// Whether what is open is the node of the device, or on its filesystem.
absl::StatusOr<bool> Shows(const os::UniqueFd& handle, const os::BlockDevice& device,
                           AccessType access_type, const std::string& path) {
  if (access_type == AccessType::kBlock) return IsNodeOf(handle, device);
  const auto behind = os::DeviceBehind(handle.get(), path);
  return behind.ok() ? *behind == device.number : IsMountOf(handle, device);
}

// The handle is closed when this returns, because it keeps the mount busy.
absl::StatusOr<Answer> Ask(const os::BlockDevice& device, AccessType access_type,
                           const std::string& path) {
  if (!path.starts_with('/')) return Answer{};
  ASSIGN_OR_RETURN(const os::RequestPath target, os::RequestPath::Open(path, "volume_path"));
  const auto look = os::LookAtMount();
  ASSIGN_OR_RETURN(const os::UniqueFd handle, target.OpenHandle());
  ASSIGN_OR_RETURN(const bool here, Shows(handle, device, access_type, path));
  if (!here || access_type == AccessType::kBlock) return Answer{.at_path = here};
  const bool answers = os::DeviceBehind(handle.get(), path).ok();
  auto space = os::MeasureFilesystem(handle.get());
  Answer answer{.at_path = true, .dead = !answers || !space.ok()};
  if (space.ok()) answer.space = *std::move(space);
  return answer;
}

absl::StatusOr<Answer> AskAt(const os::BlockDevice& device, AccessType access_type,
                             const std::string& path) {
  auto answer = Ask(device, access_type, path);
  return absl::IsNotFound(answer.status()) ? Answer{} : answer;
}

// Of a filesystem that answers. Only ext still does so when it was shut down; mountinfo, which
// costs more with every mount of the host, is read for that only, and parsed only if it may be
// wrong.
absl::StatusOr<std::string> FindProblem(const os::BlockDevice& device, const Volume& volume,
                                        bool read_only) {
  if (!read_only && !volume.filesystem.starts_with("ext")) return "";
  ASSIGN_OR_RETURN(const std::string mountinfo, os::ReadMountInfo());
  if (!read_only && mountinfo.find("shutdown") == std::string::npos) return "";
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Parse(mountinfo));
  for (const os::MountEntry* const mount : mounts.OfDevice(device.number)) {
    std::string problem = os::ProblemOf(*mount);
    if (!problem.empty()) return problem;
  }
  return "";
}

VolumeCondition ConditionOf(pool::Pool& pool, const Volume& volume, const os::BlockDevice& device,
                            const Answer& answer) {
  if (answer.dead) return VolumeCondition{true, os::DeadFilesystem()};
  const auto problem = FindProblem(device, volume, answer.space->read_only);
  if (!problem.ok()) return VolumeCondition{true, MessageOf(problem.status())};
  if (!problem->empty()) return VolumeCondition{true, *problem};
  const fs::Filesystem* const filesystem = fs::FindFilesystem(volume.filesystem);
  if (filesystem != nullptr && filesystem->HasRecordedErrors(device)) {
    return VolumeCondition{true, fs::RecordedErrors()};
  }
  return pool.Condition(volume);
}

}  // namespace

absl::StatusOr<VolumeStats> MeasureVolume(const pool::Pools& pools, const std::string& volume_id,
                                          const std::string& path) {
  ASSIGN_OR_RETURN(const auto located, pools.Locate(volume_id));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  ASSIGN_OR_RETURN(const auto device, located.pool->FindDevice(located.id));
  if (!device) return NotAtPath(located.id, path);
  ASSIGN_OR_RETURN(const Answer answer, AskAt(*device, volume.access_type, path));
  if (!answer.at_path) return NotAtPath(located.id, path);
  const bool block = volume.access_type == AccessType::kBlock;
  return VolumeStats{.access_type = volume.access_type,
                     .capacity = device->size,
                     .filesystem = answer.space,
                     .condition = block ? located.pool->Condition(volume)
                                        : ConditionOf(*located.pool, volume, *device, answer)};
}

absl::Status RequireAtPath(const pool::Pools& pools, const std::string& volume_id,
                           const std::string& path) {
  ASSIGN_OR_RETURN(const auto located, pools.Locate(volume_id));
  ASSIGN_OR_RETURN(const Volume volume, located.pool->Get(located.id));
  ASSIGN_OR_RETURN(const auto device, located.pool->FindDevice(located.id));
  if (!device) return absl::OkStatus();
  const os::UniqueFd handle(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!handle.valid()) return NotAtPath(located.id, path);
  ASSIGN_OR_RETURN(const bool here, Shows(handle, *device, volume.access_type, path));
  return here ? absl::OkStatus() : NotAtPath(located.id, path);
}

}  // namespace holdfast::node
