// SPDX-License-Identifier: Apache-2.0
#include "client/volume.h"

#include <sys/stat.h>

#include <utility>

namespace bench {
namespace {

using csi::v1::Controller;
using csi::v1::Node;

}  // namespace

void SetCapability(csi::v1::VolumeCapability& capability, const Options& options) {
  if (options.block) {
    capability.mutable_block();
  } else {
    capability.mutable_mount()->set_fs_type(options.filesystem);
  }
  capability.mutable_access_mode()->set_mode(
      csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
}

DriverVolume::DriverVolume(const Options& options, std::string name)
    : options_(options),
      name_(std::move(name)),
      staging_(options.directory + "/staging/" + name_),
      target_(options.directory + "/pods/" + name_) {
  ::mkdir(staging_.c_str(), 0700);
}

void DriverVolume::Create(Connection& driver) {
  csi::v1::CreateVolumeRequest request;
  request.set_name(name_);
  request.mutable_capacity_range()->set_required_bytes(options_.size);
  SetCapability(*request.add_volume_capabilities(), options_);
  (*request.mutable_parameters())["provisioning"] = options_.thick ? "thick" : "thin";
  id_ = Call(driver.controller(), &Controller::Stub::CreateVolume, request).volume().volume_id();
}

void DriverVolume::Stage(Connection& driver) {
  csi::v1::NodeStageVolumeRequest request;
  request.set_volume_id(id_);
  request.set_staging_target_path(staging_);
  SetCapability(*request.mutable_volume_capability(), options_);
  Call(driver.node(), &Node::Stub::NodeStageVolume, request);
}

void DriverVolume::Publish(Connection& driver) {
  csi::v1::NodePublishVolumeRequest request;
  request.set_volume_id(id_);
  request.set_staging_target_path(staging_);
  request.set_target_path(target_);
  SetCapability(*request.mutable_volume_capability(), options_);
  Call(driver.node(), &Node::Stub::NodePublishVolume, request);
}

void DriverVolume::Stats(Connection& driver) {
  csi::v1::NodeGetVolumeStatsRequest request;
  request.set_volume_id(id_);
  request.set_volume_path(target_);
  Call(driver.node(), &Node::Stub::NodeGetVolumeStats, request);
}

void DriverVolume::ExpandController(Connection& driver) {
  csi::v1::ControllerExpandVolumeRequest request;
  request.set_volume_id(id_);
  request.mutable_capacity_range()->set_required_bytes(2 * options_.size);
  Call(driver.controller(), &Controller::Stub::ControllerExpandVolume, request);
}

void DriverVolume::ExpandNode(Connection& driver) {
  csi::v1::NodeExpandVolumeRequest request;
  request.set_volume_id(id_);
  request.set_volume_path(target_);
  request.set_staging_target_path(staging_);
  request.mutable_capacity_range()->set_required_bytes(2 * options_.size);
  Call(driver.node(), &Node::Stub::NodeExpandVolume, request);
}

void DriverVolume::Unpublish(Connection& driver) {
  csi::v1::NodeUnpublishVolumeRequest request;
  request.set_volume_id(id_);
  request.set_target_path(target_);
  Call(driver.node(), &Node::Stub::NodeUnpublishVolume, request);
}

void DriverVolume::Unstage(Connection& driver) {
  csi::v1::NodeUnstageVolumeRequest request;
  request.set_volume_id(id_);
  request.set_staging_target_path(staging_);
  Call(driver.node(), &Node::Stub::NodeUnstageVolume, request);
}

void DriverVolume::Delete(Connection& driver) {
  csi::v1::DeleteVolumeRequest request;
  request.set_volume_id(id_);
  Call(driver.controller(), &Controller::Stub::DeleteVolume, request);
}

}  // namespace bench
