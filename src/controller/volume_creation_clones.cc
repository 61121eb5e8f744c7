// SPDX-License-Identifier: Apache-2.0
// Clones of volumes that are on another node than the clone, or in a pool of the controller:
// restores of a snapshot that is held as long as that takes (docs/adr/0032).
#include <algorithm>

#include "controller/volume_creation.h"

namespace holdfast::controller {

absl::Status VolumeCreation::CloneElsewhere(const csi::v1::CreateVolumeRequest& request,
                                            const PlacementRequest& wanted, const VolumeId& volume,
                                            link::Deadline deadline,
                                            csi::v1::CreateVolumeResponse& response) {
  const absl::Status made = CloneHeld(request, wanted, volume, deadline, response);
  if (IsOver(made)) held_.Release(volume, wanted.name);
  return made;
}

// A volume that is complete needs no source any more: its snapshot has been removed, and must not
// be made again.
absl::Status VolumeCreation::CloneHeld(const csi::v1::CreateVolumeRequest& request,
                                       const PlacementRequest& wanted, const VolumeId& volume,
                                       link::Deadline deadline,
                                       csi::v1::CreateVolumeResponse& response) {
  std::set<std::string> asked;
  ASSIGN_OR_RETURN(const Candidates candidates,
                   AwaitPlace({request, wanted, deadline, response, asked, /*origin=*/nullptr}));
  const auto known = KnownPlaces(wanted.name);
  const bool complete = std::ranges::any_of(known, &link::VolumeNames::Place::returned);
  const bool hopeless = known.empty() && candidates.fitting.empty() && candidates.absent.empty();
  if (complete || hopeless) return CreateSomewhere(request, wanted, deadline, response);
  auto held = held_.Hold(volume, wanted.name, deadline);
  if (absl::IsNotFound(held.status())) RETURN_IF_ERROR(LeaveNodes(wanted.name));
  RETURN_IF_ERROR(held.status());
  PlacementRequest placed = wanted;
  placed.bytes = std::max<Bytes>(placed.bytes, held->content.capacity_bytes);
  const Origin origin{held->snapshot, ToMessage(held->content)};
  return CreateSomewhere(request, placed, deadline, response, &origin);
}

}  // namespace holdfast::controller
