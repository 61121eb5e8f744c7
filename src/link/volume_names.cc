// SPDX-License-Identifier: Apache-2.0
#include "link/volume_names.h"

namespace holdfast::link {

std::string VolumeNames::NodeOf(const std::string& volume_name) const {
  const std::lock_guard lock(mutex_);
  const auto found = node_of_name_.find(volume_name);
  return found == node_of_name_.end() ? std::string() : found->second;
}

void VolumeNames::Learn(const v1::Register& message) {
  const std::lock_guard lock(mutex_);
  for (const v1::Volume& volume : message.volumes()) {
    node_of_name_[volume.name()] = message.node();
    name_of_id_[volume.id()] = volume.name();
  }
}

void VolumeNames::CreationStarts(const std::string& volume_name, const std::string& node) {
  const std::lock_guard lock(mutex_);
  node_of_name_[volume_name] = node;
}

void VolumeNames::CreationFailed(const std::string& volume_name) {
  const std::lock_guard lock(mutex_);
  node_of_name_.erase(volume_name);
}

void VolumeNames::Created(const std::string& volume_id, const std::string& volume_name) {
  const std::lock_guard lock(mutex_);
  name_of_id_[volume_id] = volume_name;
}

void VolumeNames::Deleted(const std::string& volume_id) {
  const std::lock_guard lock(mutex_);
  const auto known = name_of_id_.find(volume_id);
  if (known == name_of_id_.end()) return;
  node_of_name_.erase(known->second);
  name_of_id_.erase(known);
}

}  // namespace holdfast::link
