// SPDX-License-Identifier: Apache-2.0
// Volumes that are made, those whose bytes come from another pool or node, and snapshots whose
// bytes go there.
#include <optional>

#include "controller/content_messages.h"
#include "controller/service.h"
#include "controller/snapshot_request.h"
#include "rpc/fields.h"

namespace holdfast::controller {

// A source in the same pool does not change meanwhile.
absl::StatusOr<Volume> Service::Make(const CreateRequest& create) {
  const VolumeId id = create.pool->IdForName(create.spec.name);
  ASSIGN_OR_RETURN(const auto lock, env_.volume_locks.TryLock(id.ToString(), "CreateVolume"));
  std::optional<KeyLock::Guard> source_lock;
  const auto& source = create.spec.source;
  if (source && IsIn(*source, create.pool->info())) {
    ASSIGN_OR_RETURN(KeyLock::Guard taken,
                     env_.volume_locks.TryLock(source->id.ToString(), "CreateVolume"));
    source_lock.emplace(std::move(taken));
  }
  auto volume = create.pool->Create(create.spec);
  if (source && absl::IsAborted(volume.status())) CopyInBackground();
  return volume;
}

// Without a ticket the source is in another pool of this process.
absl::StatusOr<Volume> Service::MakeFromElsewhere(const CreateRequest& create,
                                                  const std::string& ticket) {
  auto volume = Make(create);
  if (!absl::IsAborted(volume.status())) return volume;
  const VolumeId id = create.pool->IdForName(create.spec.name);
  const Content& content = *create.spec.content;
  absl::Status brought;
  if (!ticket.empty()) {
    brought = transfers_.Take(*create.pool, id, content, ticket);
  } else {
    ASSIGN_OR_RETURN(const auto from, env_.pools.Locate(create.spec.source->id.ToString()));
    ASSIGN_OR_RETURN(auto reader, from.pool->ReadContent(from.id));
    brought = transfers_.Copy(*create.pool, id, content, std::move(reader));
  }
  volume = Make(create);
  if (!absl::IsAborted(volume.status()) || brought.ok()) return volume;
  return Aborted("{}; the last attempt has ended: {}", MessageOf(volume.status()),
                 MessageOf(brought));
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
        return Create(request, response, incoming);
      });
}

grpc::Status Service::CreateVolumeFrom(const link::v1::Incoming& incoming,
                                       const csi::v1::CreateVolumeRequest& request,
                                       csi::v1::CreateVolumeResponse& response) {
  return RunCreation(nullptr, request, response, &incoming);
}

grpc::Status Service::DescribeContent(const link::v1::DescribeContent& request,
                                      link::v1::Content& response) {
  return env_.calls.Run(
      nullptr, CallAbout("DescribeContent", request.snapshot(), LogLevel::kDebug),
      [&]() -> absl::Status {
        ASSIGN_OR_RETURN(const auto located, LocateSnapshot(request.snapshot(), {}));
        ASSIGN_OR_RETURN(const Content content, located.pool->DescribeContent(located.id));
        response = ToMessage(content);
        return absl::OkStatus();
      });
}

grpc::Status Service::SendContent(const link::v1::SendContent& request) {
  return env_.calls.Run(
      nullptr, CallAbout("SendContent", request.snapshot()), [&]() -> absl::Status {
        ASSIGN_OR_RETURN(const auto located, LocateSnapshot(request.snapshot(), {}));
        ASSIGN_OR_RETURN(const Content content, located.pool->DescribeContent(located.id));
        if (content.version != request.version()) {
          return Aborted("snapshot '{}' is another one than before; try again", request.snapshot());
        }
        ASSIGN_OR_RETURN(auto reader, located.pool->ReadContent(located.id));
        return transfers_.Send(request.ticket(), std::move(reader));
      });
}

}  // namespace holdfast::controller
