// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_life.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <vector>

#include "cli/connection.h"
#include "os/file.h"
#include "os/host_filesystem.h"
#include "os/mount_table.h"
#include "os/process.h"

namespace holdfast::cli {
namespace {

using csi::v1::Controller;
using csi::v1::Node;

// Above the least that any filesystem takes, and each step up by what xfs adds as a whole
// allocation group.
constexpr Bytes kFirstSize = 320 * kMiB;
constexpr Bytes kMountedSize = 480 * kMiB;
constexpr Bytes kUnmountedSize = 640 * kMiB;
constexpr Bytes kDataSize = 16 * kMiB;
constexpr std::chrono::seconds kChecksumTime{30};
constexpr std::size_t kDigestLength = 64;
constexpr std::size_t kDigestShown = 12;

absl::StatusOr<std::string> Sha256(const std::string& path) {
  ASSIGN_OR_RETURN(const os::CommandResult result,
                   os::RunCommand({"sha256sum", path}, kChecksumTime));
  if (result.exit_code != 0) return Internal("sha256sum failed: {}", result.output);
  return result.output.substr(0, kDigestLength);
}

// What the filesystem mounted at `path` says of its own size.
absl::StatusOr<Bytes> FilesystemSize(const std::string& path) {
  ASSIGN_OR_RETURN(const os::UniqueFd root, os::OpenDirectory(path));
  ASSIGN_OR_RETURN(const os::FilesystemSpace space, os::MeasureFilesystem(root.get()));
  return space.total;
}

absl::StatusOr<std::string> DeviceAt(const std::string& path) {
  ASSIGN_OR_RETURN(const os::MountTable mounts, os::MountTable::Read());
  const os::MountEntry* const mount = mounts.At(path);
  if (mount == nullptr) return Internal("nothing is mounted at '{}'", path);
  return mount->source;
}

absl::Status WriteRandomData(const std::string& path, Bytes size) {
  std::vector<std::uint64_t> data(static_cast<std::size_t>(size) / sizeof(std::uint64_t));
  std::mt19937_64 random(std::random_device{}());
  for (std::uint64_t& word : data) word = random();
  const os::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return OsError(errno, fmt::format("make '{}'", path));
  const ssize_t written = ::write(file.get(), data.data(), static_cast<std::size_t>(size));
  if (written < 0) return OsError(errno, fmt::format("write '{}'", path));
  if (written != size) return Internal("'{}' took only {}", path, FormatBytes(written));
  return os::Sync(file.get(), path);
}

}  // namespace

absl::Status DemoLife::Run() {
  RETURN_IF_ERROR(RunBeforeCrash());
  RETURN_IF_ERROR(RunCrash());
  RETURN_IF_ERROR(RunOffline());
  return RunEnd();
}

absl::Status DemoLife::RunBeforeCrash() {
  RETURN_IF_ERROR(steps_.Run("start", [this] { return StartDriver(); }));
  RETURN_IF_ERROR(steps_.Run("create", [this] { return Create(); }));
  RETURN_IF_ERROR(steps_.Run("stage", [this] { return Stage(); }));
  RETURN_IF_ERROR(steps_.Run("publish", [this] { return Publish(); }));
  RETURN_IF_ERROR(steps_.Run("write", [this] { return Write(); }));
  return steps_.Run("expand mounted", [this] { return ExpandMounted(); });
}

absl::Status DemoLife::RunCrash() {
  RETURN_IF_ERROR(steps_.Run("kill -9", [this] { return KillDriver(); }));
  RETURN_IF_ERROR(steps_.Run("compare", [this] { return Compare(); }));
  RETURN_IF_ERROR(steps_.Run("start again", [this] { return StartDriver(); }));
  return steps_.Run("statistics", [this] { return Statistics(); });
}

absl::Status DemoLife::RunOffline() {
  RETURN_IF_ERROR(steps_.Run("unpublish", [this] { return Unpublish(); }));
  RETURN_IF_ERROR(steps_.Run("unstage", [this] { return Unstage(); }));
  RETURN_IF_ERROR(steps_.Run("expand offline", [this] { return ExpandUnmounted(); }));
  RETURN_IF_ERROR(steps_.Run("stage again", [this] { return StageAgain(); }));
  RETURN_IF_ERROR(steps_.Run("publish", [this] { return Publish(); }));
  RETURN_IF_ERROR(steps_.Run("compare", [this] { return Compare(); }));
  return steps_.Run("statistics", [this] { return Statistics(); });
}

absl::Status DemoLife::RunEnd() {
  RETURN_IF_ERROR(steps_.Run("unpublish", [this] { return Unpublish(); }));
  RETURN_IF_ERROR(steps_.Run("unstage", [this] { return Unstage(); }));
  RETURN_IF_ERROR(steps_.Run("delete", [this] { return Delete(); }));
  return steps_.Run("stop", [this] { return StopDriver(); });
}

csi::v1::VolumeCapability DemoLife::Capability() const {
  csi::v1::VolumeCapability capability;
  capability.mutable_mount()->set_fs_type(filesystem_);
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
  return capability;
}

DemoLife::What DemoLife::StartDriver() {
  RETURN_IF_ERROR(driver_.Start());
  return fmt::format("driver ready, process {}", driver_.pid());
}

DemoLife::What DemoLife::Create() {
  csi::v1::CreateVolumeRequest request;
  request.set_name("demo");
  request.mutable_capacity_range()->set_required_bytes(kFirstSize);
  *request.add_volume_capabilities() = Capability();
  ASSIGN_OR_RETURN(const auto response,
                   Call(driver_.controller(), &Controller::Stub::CreateVolume, request));
  volume_id_ = response.volume().volume_id();
  return fmt::format("volume of {}, thick: its space is taken at once",
                     FormatBytes(response.volume().capacity_bytes()));
}

DemoLife::What DemoLife::Stage() {
  csi::v1::NodeStageVolumeRequest request;
  request.set_volume_id(volume_id_);
  request.set_staging_target_path(workspace_.staging());
  *request.mutable_volume_capability() = Capability();
  RETURN_IF_ERROR(Call(driver_.node(), &Node::Stub::NodeStageVolume, request).status());
  ASSIGN_OR_RETURN(const std::string device, DeviceAt(workspace_.staging()));
  return fmt::format("{} attached, formatted once with {}, mounted", device, filesystem_);
}

DemoLife::What DemoLife::Publish() {
  csi::v1::NodePublishVolumeRequest request;
  request.set_volume_id(volume_id_);
  request.set_staging_target_path(workspace_.staging());
  request.set_target_path(workspace_.target());
  *request.mutable_volume_capability() = Capability();
  RETURN_IF_ERROR(Call(driver_.node(), &Node::Stub::NodePublishVolume, request).status());
  return "bound to where a pod would see it";
}

DemoLife::What DemoLife::Write() {
  RETURN_IF_ERROR(WriteRandomData(DataPath(), kDataSize));
  ASSIGN_OR_RETURN(checksum_, Sha256(DataPath()));
  return fmt::format("{} of random data, SHA-256 {}...", FormatBytes(kDataSize),
                     checksum_.substr(0, kDigestShown));
}

absl::StatusOr<bool> DemoLife::ExpandController(Bytes size) {
  csi::v1::ControllerExpandVolumeRequest request;
  request.set_volume_id(volume_id_);
  request.mutable_capacity_range()->set_required_bytes(size);
  *request.mutable_volume_capability() = Capability();
  ASSIGN_OR_RETURN(const auto response,
                   Call(driver_.controller(), &Controller::Stub::ControllerExpandVolume, request));
  if (response.capacity_bytes() >= size) return response.node_expansion_required();
  return Internal("the volume has {} after its expansion", FormatBytes(response.capacity_bytes()));
}

DemoLife::What DemoLife::ExpandMounted() {
  ASSIGN_OR_RETURN(const Bytes before, FilesystemSize(workspace_.target()));
  ASSIGN_OR_RETURN(const bool node_has_work, ExpandController(kMountedSize));
  if (!node_has_work) return Internal("the driver says that there is nothing to do on the node");
  csi::v1::NodeExpandVolumeRequest request;
  request.set_volume_id(volume_id_);
  request.set_volume_path(workspace_.target());
  request.set_staging_target_path(workspace_.staging());
  request.mutable_capacity_range()->set_required_bytes(kMountedSize);
  *request.mutable_volume_capability() = Capability();
  RETURN_IF_ERROR(Call(driver_.node(), &Node::Stub::NodeExpandVolume, request).status());
  ASSIGN_OR_RETURN(const Bytes after, FilesystemSize(workspace_.target()));
  if (after <= before) return Internal("the filesystem still has {}", FormatBytes(after));
  return fmt::format("volume {} -> {}, its filesystem {} -> {}", FormatBytes(kFirstSize),
                     FormatBytes(kMountedSize), FormatBytes(before), FormatBytes(after));
}

DemoLife::What DemoLife::KillDriver() {
  RETURN_IF_ERROR(driver_.Kill());
  return "no driver runs; the pod's mount does not need one";
}

DemoLife::What DemoLife::Compare() {
  ASSIGN_OR_RETURN(const std::string now, Sha256(DataPath()));
  if (now == checksum_)
    return fmt::format("the data is as written: {}...", now.substr(0, kDigestShown));
  return Internal("the data has changed: SHA-256 {}, was {}", now, checksum_);
}

DemoLife::What DemoLife::Statistics() {
  csi::v1::NodeGetVolumeStatsRequest request;
  request.set_volume_id(volume_id_);
  request.set_volume_path(workspace_.target());
  ASSIGN_OR_RETURN(const auto response,
                   Call(driver_.node(), &Node::Stub::NodeGetVolumeStats, request));
  if (response.volume_condition().abnormal()) {
    return Internal("the volume is abnormal: {}", response.volume_condition().message());
  }
  for (const auto& usage : response.usage()) {
    if (usage.unit() != csi::v1::VolumeUsage::BYTES) continue;
    return fmt::format("{} of {} used, volume healthy", FormatBytes(usage.used()),
                       FormatBytes(usage.total()));
  }
  return Internal("the statistics have no bytes");
}

DemoLife::What DemoLife::Unpublish() {
  csi::v1::NodeUnpublishVolumeRequest request;
  request.set_volume_id(volume_id_);
  request.set_target_path(workspace_.target());
  RETURN_IF_ERROR(Call(driver_.node(), &Node::Stub::NodeUnpublishVolume, request).status());
  return "the pod's mount is gone";
}

DemoLife::What DemoLife::Unstage() {
  csi::v1::NodeUnstageVolumeRequest request;
  request.set_volume_id(volume_id_);
  request.set_staging_target_path(workspace_.staging());
  RETURN_IF_ERROR(Call(driver_.node(), &Node::Stub::NodeUnstageVolume, request).status());
  return "unmounted, loop device detached";
}

DemoLife::What DemoLife::ExpandUnmounted() {
  RETURN_IF_ERROR(ExpandController(kUnmountedSize).status());
  return fmt::format("volume {} -> {}; the filesystem follows when it is staged",
                     FormatBytes(kMountedSize), FormatBytes(kUnmountedSize));
}

DemoLife::What DemoLife::StageAgain() {
  RETURN_IF_ERROR(Stage().status());
  ASSIGN_OR_RETURN(const Bytes size, FilesystemSize(workspace_.staging()));
  if (size <= kMountedSize) return Internal("the filesystem still has {}", FormatBytes(size));
  return fmt::format("mounted, filesystem now {}", FormatBytes(size));
}

DemoLife::What DemoLife::Delete() {
  csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(volume_id_);
  RETURN_IF_ERROR(Call(driver_.controller(), &Controller::Stub::DeleteVolume, request).status());
  return "volume and data are gone";
}

DemoLife::What DemoLife::StopDriver() {
  RETURN_IF_ERROR(driver_.Stop());
  return "the driver finished what ran and ended with exit code 0";
}

}  // namespace holdfast::cli
