// SPDX-License-Identifier: Apache-2.0
// Clones whose source is in another pool: restores of a snapshot of it that is held as long as that
// takes, and of which the CO never hears (docs/adr/0032).
//
// A kill leaves at most such a snapshot, which a repeated call uses, and the reconciler removes
// when none has asked for it for an hour.
#include <algorithm>
#include <optional>

#include "controller/held_contents.h"
#include "controller/parameters.h"
#include "controller/service.h"
#include "controller/snapshot_request.h"
#include "core/log.h"
#include "rpc/fields.h"

namespace holdfast::controller {

// Nothing also if the request is wrong, or the volume in a pool of which this process knows
// nothing: what is to be said of that is said by whoever makes the volume.
std::optional<VolumeId> Service::VolumeElsewhereIn(
    const csi::v1::CreateVolumeRequest& request) const {
  const auto source = ParseContentSource(request).value_or(std::nullopt);
  if (!source || source->role != VolumeRole::kVolume) return std::nullopt;
  const auto parameters = ParseParameters(request.parameters());
  if (!parameters.ok() || !env_.pools.Locate(source->id.ToString()).ok()) return std::nullopt;
  const auto pool = PoolFor(request, *parameters, env_.pools);
  if (!pool.ok() || IsIn(*source, (*pool)->info())) return std::nullopt;
  return source->id;
}

absl::StatusOr<bool> Service::HasVolumeFor(const csi::v1::CreateVolumeRequest& request) const {
  ASSIGN_OR_RETURN(const ClassParameters parameters, ParseParameters(request.parameters()));
  ASSIGN_OR_RETURN(pool::Pool* const chosen, PoolFor(request, parameters, env_.pools));
  ASSIGN_OR_RETURN(pool::Pool* const pool,
                   chosen->WithCredentials(rpc::SecretsIn(request.secrets())));
  const absl::Status found = pool->Get(pool->IdForName(request.name())).status();
  if (absl::IsNotFound(found)) return false;
  RETURN_IF_ERROR(found);
  return true;
}

// A volume that is complete needs no source any more: its snapshot has been removed, and must not
// be made again.
absl::Status Service::CloneFromElsewhere(const csi::v1::CreateVolumeRequest& request,
                                         const VolumeId& volume,
                                         csi::v1::CreateVolumeResponse& response) {
  ASSIGN_OR_RETURN(const bool complete, HasVolumeFor(request));
  absl::Status made;
  if (complete) {
    made = CreateWith(request, response, nullptr);
  } else {
    RETURN_IF_ERROR(RequireFit(request, volume));
    ASSIGN_OR_RETURN(const HeldContent held, Hold(volume, request.name()));
    Arrival arrival;
    arrival.content = held.content;
    arrival.bring = [&](pool::Pool& pool, const VolumeId& id) {
      return BringFromHere(ToSnapshotId(held.snapshot), pool, id, held.content);
    };
    made = CreateWith(request, response, &arrival);
  }
  if (!IsOver(made)) return made;
  const absl::Status released = Release(volume, request.name());
  if (!released.ok()) {
    LogWarning("the snapshot that was held for the clone '{}' is removed later: {}", request.name(),
               MessageOf(released));
  }
  return made;
}

// What can be refused is refused before anything is made. The volume may be gone, and its snapshot
// be there.
absl::Status Service::RequireFit(const csi::v1::CreateVolumeRequest& request,
                                 const VolumeId& volume) const {
  ASSIGN_OR_RETURN(const auto located, env_.pools.Locate(volume.ToString()));
  const auto source = located.pool->Get(volume);
  if (absl::IsNotFound(source.status())) return absl::OkStatus();
  RETURN_IF_ERROR(source.status());
  const Content content{.capacity_bytes = source->capacity_bytes,
                        .access_type = source->access_type,
                        .filesystem = source->filesystem,
                        .inherited_uuids = {},
                        .version = {}};
  ASSIGN_OR_RETURN(const CreateRequest create, ParseCreateRequest(request, env_.pools, content));
  const CapacityRange range{
      .required = std::max(create.spec.capacity.required, source->capacity_bytes),
      .limit = create.spec.capacity.limit};
  return ChooseCapacity(range, source->capacity_bytes).status();
}

absl::StatusOr<HeldContent> Service::Hold(const VolumeId& volume, const std::string& name) {
  ASSIGN_OR_RETURN(const auto located, env_.pools.Locate(volume.ToString()));
  VolumeSpec spec;
  spec.role = VolumeRole::kSnapshot;
  spec.name = name;
  spec.source = ContentSource{VolumeRole::kVolume, located.id};
  spec.hold = true;
  const VolumeId id = located.pool->IdForSpec(spec);
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(id.ToString(), "CreateVolume"));
  auto held = FindHeld(located, id);
  if (!absl::IsNotFound(held.status())) return held;
  ASSIGN_OR_RETURN(const auto source_lock,
                   env_.volume_locks.TryLock(located.id.ToString(), "CreateVolume"));
  RETURN_IF_ERROR(located.pool->Create(spec).status());
  return FindHeld(located, id);
}

absl::StatusOr<HeldContent> Service::FindHeld(const pool::Pools::Located& volume,
                                              const VolumeId& snapshot) {
  RETURN_IF_ERROR(volume.pool->KeepHeld(snapshot));
  HeldContent held{.snapshot = snapshot, .content = {}};
  auto content = volume.pool->DescribeContent(snapshot);
  if (absl::IsAborted(content.status())) CopyInBackground();
  ASSIGN_OR_RETURN(held.content, std::move(content));
  return held;
}

absl::Status Service::Release(const VolumeId& volume, const std::string& name) {
  ASSIGN_OR_RETURN(const auto located, env_.pools.Locate(volume.ToString()));
  const VolumeId id = located.pool->IdForHold(ContentSource{VolumeRole::kVolume, located.id}, name);
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(id.ToString(), "CreateVolume"));
  const absl::Status found = located.pool->GetSnapshot(id).status();
  if (absl::IsNotFound(found)) return absl::OkStatus();
  RETURN_IF_ERROR(found);
  return located.pool->DeleteSnapshot(id);
}

grpc::Status Service::HoldContent(const link::v1::HoldContent& request,
                                  link::v1::HeldContent& response) {
  return env_.calls.Run(nullptr, {"HoldContent", request.volume()}, [&]() -> absl::Status {
    RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
    const auto volume = VolumeId::Parse(request.volume());
    if (!volume) return NotFound("there is no volume '{}'", request.volume());
    ASSIGN_OR_RETURN(const HeldContent held, Hold(*volume, request.name()));
    response = ToMessage(held);
    return absl::OkStatus();
  });
}

grpc::Status Service::ReleaseContent(const link::v1::ReleaseContent& request) {
  return env_.calls.Run(nullptr, {"ReleaseContent", request.volume()}, [&]() -> absl::Status {
    RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
    const auto volume = VolumeId::Parse(request.volume());
    return volume ? Release(*volume, request.name()) : absl::OkStatus();
  });
}

}  // namespace holdfast::controller
