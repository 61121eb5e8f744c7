// SPDX-License-Identifier: Apache-2.0
#include "controller/capacity.h"

#include <algorithm>
#include <limits>

#include "controller/placement.h"
#include "fs/filesystem.h"
#include "rpc/fields.h"

namespace holdfast::controller {
namespace {

// Nodes say what they like: one that is wrong must not spoil what the others have.
Bytes Sum(Bytes total, Bytes room) {
  const Bytes left = std::numeric_limits<Bytes>::max() - total;
  return total + std::clamp<Bytes>(room, 0, left);
}

}  // namespace

absl::StatusOr<CapacityQuestion> ParseCapacityQuestion(const csi::v1::GetCapacityRequest& request) {
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  CapacityQuestion question;
  ASSIGN_OR_RETURN(question.parameters, ParseParameters(request.parameters()));
  question.filesystem = question.parameters.filesystem;
  for (const csi::v1::VolumeCapability& capability : request.volume_capabilities()) {
    const auto use = rpc::ParseCapability(capability, absl::StatusCode::kFailedPrecondition);
    if (absl::IsFailedPrecondition(use.status())) {
      question.possible = false;
      return question;
    }
    RETURN_IF_ERROR(use.status());
    question.needs_several_nodes |= SharingOf(use->access_mode) != Sharing::kAlone;
    question.possible &=
        RequireReach(*use, /*on_one_node=*/false, absl::StatusCode::kFailedPrecondition).ok();
    question.block |= use->access_type == AccessType::kBlock;
    if (!use->filesystem.empty()) question.filesystem = use->filesystem;
  }
  return question;
}

Bytes MinimumSize(const CapacityQuestion& question, const std::string& default_filesystem) {
  if (question.block) return kVolumeGranularity;
  const fs::Filesystem* const filesystem =
      fs::FindFilesystem(question.filesystem.empty() ? default_filesystem : question.filesystem);
  return filesystem == nullptr ? kVolumeGranularity : filesystem->min_size();
}

void AddCapacity(const CapacityQuestion& question, const link::NodeView& node,
                 csi::v1::GetCapacityResponse& response) {
  const link::v1::Pool* const pool = FindPool(node, question.parameters.pool);
  if (pool == nullptr) return;
  const auto& room = RoomOf(*pool, question.parameters.provisioning);
  const Bytes minimum = std::max<Bytes>(room.minimum_volume_size().value(),
                                        MinimumSize(question, pool->default_filesystem()));
  response.set_available_capacity(Sum(response.available_capacity(), room.available_capacity()));
  auto& maximum_size = *response.mutable_maximum_volume_size();
  maximum_size.set_value(std::max(maximum_size.value(), room.maximum_volume_size().value()));
  const bool first = !response.has_minimum_volume_size();
  auto& minimum_size = *response.mutable_minimum_volume_size();
  minimum_size.set_value(first ? minimum : std::min(minimum_size.value(), minimum));
}

}  // namespace holdfast::controller
