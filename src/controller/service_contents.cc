// SPDX-License-Identifier: Apache-2.0
// Volumes that are made, those whose bytes come from another pool or node, and snapshots whose
// bytes go there.
#include <optional>

#include "controller/content_messages.h"
#include "controller/keeping_reader.h"
#include "controller/service.h"
#include "controller/snapshot_request.h"
#include "rpc/fields.h"

namespace holdfast::controller {

absl::Status Service::Create(const csi::v1::CreateVolumeRequest& request,
                             csi::v1::CreateVolumeResponse& response, const Arrival* arrival) {
  const auto elsewhere = arrival == nullptr ? VolumeElsewhereIn(request) : std::nullopt;
  if (elsewhere) return CloneFromElsewhere(request, *elsewhere, response);
  return CreateWith(request, response, arrival);
}

absl::Status Service::CreateWith(const csi::v1::CreateVolumeRequest& request,
                                 csi::v1::CreateVolumeResponse& response, const Arrival* arrival) {
  std::optional<Content> content;
  if (arrival != nullptr) content = arrival->content;
  ASSIGN_OR_RETURN(const CreateRequest create, ParseCreateRequest(request, env_.pools, content));
  RETURN_IF_ERROR(RequirePlace(request, create));
  ASSIGN_OR_RETURN(const Volume volume,
                   create.spec.content ? MakeFromElsewhere(create, arrival) : Make(create));
  *response.mutable_volume() = Describe(volume, create.pool->info());
  if (request.has_volume_content_source()) {
    *response.mutable_volume()->mutable_content_source() = request.volume_content_source();
  }
  return absl::OkStatus();
}

// A source in the same pool does not change meanwhile.
absl::StatusOr<Volume> Service::Make(const CreateRequest& create) {
  const VolumeId id = create.pool->IdForName(create.spec.name);
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(id.ToString(), "CreateVolume"));
  std::optional<KeyLock::Guard> source_lock;
  const auto& source = create.spec.source;
  // A volume that is asked for as a copy of itself is refused by the pool.
  if (source && IsIn(*source, create.pool->info()) && source->id.uuid != id.uuid) {
    ASSIGN_OR_RETURN(KeyLock::Guard taken,
                     env_.volume_locks.TryLock(source->id.ToString(), "CreateVolume"));
    source_lock.emplace(std::move(taken));
  }
  auto volume = create.pool->Create(create.spec);
  if (source && absl::IsAborted(volume.status())) CopyInBackground();
  return volume;
}

absl::StatusOr<Volume> Service::MakeFromElsewhere(const CreateRequest& create,
                                                  const Arrival* arrival) {
  auto volume = Make(create);
  if (!absl::IsAborted(volume.status())) return volume;
  const VolumeId id = create.pool->IdForName(create.spec.name);
  const absl::Status brought =
      arrival != nullptr
          ? arrival->bring(*create.pool, id)
          : BringFromHere(create.spec.source->ToString(), *create.pool, id, *create.spec.content);
  volume = Make(create);
  if (!absl::IsAborted(volume.status()) || brought.ok()) return volume;
  return Aborted("{}; the last attempt has ended: {}", MessageOf(volume.status()),
                 MessageOf(brought));
}

// The pools' own users serve: a transfer goes on long after the call whose secrets began it.
absl::StatusOr<pool::Pools::Located> Service::LocateContent(const std::string& snapshot_id) const {
  const auto id = ParseSnapshotId(snapshot_id);
  if (!id) return NotFound("there is no snapshot '{}'", snapshot_id);
  return env_.pools.Locate(id->ToString());
}

absl::StatusOr<Content> Service::Describe(const std::string& snapshot_id) const {
  ASSIGN_OR_RETURN(const auto located, LocateContent(snapshot_id));
  return located.pool->DescribeContent(located.id);
}

absl::Status Service::BringFromHere(const std::string& snapshot_id, pool::Pool& pool,
                                    const VolumeId& id, const Content& content) {
  ASSIGN_OR_RETURN(const auto from, LocateContent(snapshot_id));
  ASSIGN_OR_RETURN(auto reader, from.pool->ReadContent(from.id));
  return transfers_.Copy(
      pool, id, content,
      std::make_unique<KeepingReader>(std::move(reader), from, env_.volume_locks));
}

grpc::Status Service::RunCreation(grpc::ServerContext* context,
                                  const csi::v1::CreateVolumeRequest& request,
                                  csi::v1::CreateVolumeResponse& response,
                                  const link::v1::Incoming* incoming) {
  return env_.calls.Run(
      context, {"CreateVolume", request.name(), LogLevel::kInfo, KeyOf(request.parameters())},
      [&]() -> absl::Status {
        RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
        ASSIGN_OR_RETURN(const auto lock,
                         env_.volume_locks.TryLock(NameKey(request.name()), "CreateVolume"));
        if (incoming == nullptr) return Create(request, response);
        Arrival arrival;
        ASSIGN_OR_RETURN(arrival.content, ParseContent(incoming->content()));
        // Without a ticket this node can read the snapshot itself.
        arrival.bring = [&](pool::Pool& pool, const VolumeId& id) {
          if (!incoming->ticket().empty()) {
            return transfers_.Take(pool, id, arrival.content, incoming->ticket());
          }
          return BringFromHere(incoming->snapshot(), pool, id, arrival.content);
        };
        return Create(request, response, &arrival);
      });
}

grpc::Status Service::CreateVolumeFrom(const link::v1::Incoming& incoming,
                                       const csi::v1::CreateVolumeRequest& request,
                                       csi::v1::CreateVolumeResponse& response) {
  return RunCreation(nullptr, request, response, &incoming);
}

grpc::Status Service::DescribeContent(const link::v1::DescribeContent& request,
                                      link::v1::Content& response) {
  return env_.calls.Run(nullptr, CallAbout("DescribeContent", request.snapshot(), LogLevel::kDebug),
                        [&]() -> absl::Status {
                          ASSIGN_OR_RETURN(const Content content, Describe(request.snapshot()));
                          response = ToMessage(content);
                          return absl::OkStatus();
                        });
}

grpc::Status Service::SendContent(const link::v1::SendContent& request) {
  return env_.calls.Run(
      nullptr, CallAbout("SendContent", request.snapshot()), [&]() -> absl::Status {
        ASSIGN_OR_RETURN(auto reader, ReadContent(request.snapshot(), request.version()));
        return transfers_.Send(request.ticket(), std::move(reader));
      });
}

grpc::Status Service::CopyContent(const link::v1::CopyContent& request) {
  return env_.calls.Run(
      nullptr, CallAbout("CopyContent", request.snapshot()), [&]() -> absl::Status {
        ASSIGN_OR_RETURN(const auto target, env_.pools.Locate(request.volume()));
        ASSIGN_OR_RETURN(const Content content, Describe(request.snapshot()));
        ASSIGN_OR_RETURN(auto reader, ReadContent(request.snapshot(), request.version()));
        return transfers_.Copy(*target.pool, target.id, content, std::move(reader));
      });
}

// The bytes of that very snapshot.
absl::StatusOr<std::unique_ptr<ContentReader>> Service::ReadContent(
    const std::string& snapshot_id, const std::string& version) const {
  ASSIGN_OR_RETURN(const auto located, LocateContent(snapshot_id));
  ASSIGN_OR_RETURN(const Content content, located.pool->DescribeContent(located.id));
  if (content.version != version) {
    return Aborted("snapshot '{}' is another one than before; try again", snapshot_id);
  }
  ASSIGN_OR_RETURN(auto reader, located.pool->ReadContent(located.id));
  return std::make_unique<KeepingReader>(std::move(reader), located, env_.volume_locks);
}

}  // namespace holdfast::controller
