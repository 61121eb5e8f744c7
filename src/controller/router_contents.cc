// SPDX-License-Identifier: Apache-2.0
// Volumes in the controller's own pools whose bytes come from a node, which copies them.
#include "controller/content_messages.h"
#include "controller/router.h"

namespace holdfast::controller {

OwnContents Router::ContentsOf(controller::Service& own) {
  return {.describe = [&own](const std::string& snapshot) { return own.Describe(snapshot); },
          .hold = [&own](const VolumeId& volume,
                         const std::string& name) { return own.Hold(volume, name); },
          .release = [&own](const VolumeId& volume,
                            const std::string& name) { return own.Release(volume, name); }};
}

absl::Status Router::CreateInOwnPool(const csi::v1::CreateVolumeRequest& request,
                                     const ContentSource& source, link::Deadline deadline,
                                     csi::v1::CreateVolumeResponse& response) {
  if (source.role == VolumeRole::kSnapshot) {
    return RestoreInOwnPool(request, source.id, deadline, response);
  }
  const absl::Status made = CloneInOwnPool(request, source.id, deadline, response);
  if (IsOver(made)) held_.Release(source.id, request.name());
  return made;
}

absl::Status Router::RestoreInOwnPool(const csi::v1::CreateVolumeRequest& request,
                                      const VolumeId& snapshot, link::Deadline deadline,
                                      csi::v1::CreateVolumeResponse& response) {
  const auto described = nodes_.DescribeContent(snapshot, deadline);
  if (!described.ok()) {
    // A volume that is complete needs no source any more.
    return env_.own.Create(request, response).ok() ? absl::OkStatus() : described.status();
  }
  HeldContent source{.snapshot = snapshot, .content = {}};
  ASSIGN_OR_RETURN(source.content, ParseContent(*described));
  return FillOwn(request, source, deadline, response);
}

// A volume that is complete needs no source any more: its snapshot has been removed, and must not
// be made again.
absl::Status Router::CloneInOwnPool(const csi::v1::CreateVolumeRequest& request,
                                    const VolumeId& volume, link::Deadline deadline,
                                    csi::v1::CreateVolumeResponse& response) {
  ASSIGN_OR_RETURN(const bool complete, env_.own.HasVolumeFor(request));
  if (complete) return env_.own.Create(request, response);
  ASSIGN_OR_RETURN(const HeldContent source, held_.Hold(volume, request.name(), deadline));
  return FillOwn(request, source, deadline, response);
}

absl::Status Router::FillOwn(const csi::v1::CreateVolumeRequest& request, const HeldContent& source,
                             link::Deadline deadline, csi::v1::CreateVolumeResponse& response) {
  controller::Service::Arrival arrival;
  arrival.content = source.content;
  arrival.bring = [&](pool::Pool&, const VolumeId& id) {
    return nodes_.CopyContent(source.snapshot, source.content.version, id, deadline);
  };
  return env_.own.Create(request, response, &arrival);
}

}  // namespace holdfast::controller
