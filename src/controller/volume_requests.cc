// SPDX-License-Identifier: Apache-2.0
#include "controller/volume_requests.h"

#include "controller/pool_choice.h"
#include "controller/snapshot_request.h"
#include "fs/filesystem.h"
#include "rpc/fields.h"
#include "rpc/kubernetes_objects.h"

namespace holdfast::controller {

namespace {

absl::Status CheckFields(const csi::v1::CreateVolumeRequest& request) {
  RETURN_IF_ERROR(rpc::RequireName(request.name(), "name"));
  RETURN_IF_ERROR(rpc::CheckMap(request.parameters(), "parameters"));
  if (request.volume_capabilities().empty()) {
    return InvalidArgument("volume_capabilities is missing");
  }
  if (!request.mutable_parameters().empty()) {
    return InvalidArgument("mutable_parameters is not supported: volumes cannot be modified");
  }
  return absl::OkStatus();
}

// One volume serves all the capabilities, so they must agree on what it is.
absl::StatusOr<VolumeUse> CommonUse(const csi::v1::CreateVolumeRequest& request) {
  VolumeUse common;
  bool first = true;
  for (const csi::v1::VolumeCapability& capability : request.volume_capabilities()) {
    ASSIGN_OR_RETURN(const VolumeUse use,
                     rpc::ParseCapability(capability, absl::StatusCode::kInvalidArgument));
    if (first) common = use;
    first = false;
    if (use.access_type != common.access_type || use.filesystem != common.filesystem) {
      return InvalidArgument(
          "volume_capabilities contradict each other: a volume is either raw block or one "
          "filesystem");
    }
  }
  return common;
}

absl::Status RequireReaches(const csi::v1::CreateVolumeRequest& request, const pool::Pool& pool) {
  constexpr auto kUnsupported = absl::StatusCode::kInvalidArgument;
  for (const csi::v1::VolumeCapability& capability : request.volume_capabilities()) {
    ASSIGN_OR_RETURN(const VolumeUse use, rpc::ParseCapability(capability, kUnsupported));
    const bool on_one_node = !pool.info().node.empty();
    RETURN_IF_ERROR(RequireReach(use, on_one_node, kUnsupported));
    if (on_one_node && SharingOf(use.access_mode) == Sharing::kReaders &&
        !request.has_volume_content_source()) {
      return InvalidArgument(
          "volume_capability.access_mode {} of a new volume without a content source: nobody could "
          "ever write to it",
          ToString(use.access_mode));
    }
  }
  return absl::OkStatus();
}

absl::Status SetFilesystem(VolumeSpec& spec, const std::string& name,
                           const std::string& mkfs_options, std::uint32_t sector_size) {
  RETURN_IF_ERROR(fs::RequireSupported(name));
  const fs::Filesystem* const filesystem = fs::FindFilesystem(name);
  spec.filesystem = name;
  spec.minimum_bytes = filesystem->min_size();
  ASSIGN_OR_RETURN(spec.mkfs_options, filesystem->ParseMkfsOptions(mkfs_options));
  return filesystem->RequireSectors(spec.mkfs_options, sector_size);
}

// A source in another pool of this process. Nothing if the volume was made before and the source is
// gone since.
absl::StatusOr<std::optional<Content>> DescribeForeign(const ContentSource& source,
                                                       const VolumeSpec& spec,
                                                       const pool::Pools& pools, pool::Pool& pool) {
  const auto located = pools.Locate(source.id.ToString());
  absl::Status missing = located.status();
  if (located.ok() && source.role == VolumeRole::kVolume) {
    missing =
        Aborted("the clone of volume '{}' was deleted meanwhile; try again", source.ToString());
  } else if (located.ok()) {
    auto content = located->pool->DescribeContent(located->id);
    if (content.ok()) return *std::move(content);
    missing = content.status();
  }
  if (pool.Get(pool.IdForName(spec.name)).ok()) return std::nullopt;
  return missing;
}

// When the request names none: that of the source, also when a call is repeated that made the
// volume before its source was deleted.
std::string FilesystemOf(pool::Pool& pool, const VolumeSpec& spec) {
  if (spec.content && !spec.content->filesystem.empty()) return spec.content->filesystem;
  if (spec.source) {
    const bool of_snapshot = spec.source->role == VolumeRole::kSnapshot;
    auto known = of_snapshot ? pool.GetSnapshot(spec.source->id) : pool.Get(spec.source->id);
    if (!known.ok()) known = pool.Get(pool.IdForName(spec.name));
    if (known.ok() && !known->filesystem.empty()) return known->filesystem;
  }
  return pool.info().default_filesystem;
}

}  // namespace

std::string NameKey(const std::string& name) { return "named " + name; }

absl::StatusOr<pool::Pool*> PoolFor(const csi::v1::CreateVolumeRequest& request,
                                    const ClassParameters& parameters, const pool::Pools& pools) {
  ASSIGN_OR_RETURN(const auto allowed, AllowedPools(parameters, pools));
  WantedVolume wanted{.name = request.name(),
                      .provisioning = parameters.provisioning,
                      .bytes = request.capacity_range().required_bytes()};
  ASSIGN_OR_RETURN(wanted.source, ParseContentSource(request));
  return &ChoosePool(allowed, pools, wanted);
}

bool IsIn(const ContentSource& source, const pool::PoolInfo& pool) {
  return source.id.pool == pool.name && source.id.node == pool.node;
}

absl::StatusOr<CreateRequest> ParseCreateRequest(const csi::v1::CreateVolumeRequest& request,
                                                 const pool::Pools& pools,
                                                 const std::optional<Content>& content) {
  RETURN_IF_ERROR(CheckFields(request));
  ASSIGN_OR_RETURN(const VolumeUse use, CommonUse(request));
  ASSIGN_OR_RETURN(const ClassParameters parameters, ParseParameters(request.parameters()));
  CreateRequest parsed;
  ASSIGN_OR_RETURN(pool::Pool* const pool, PoolFor(request, parameters, pools));
  ASSIGN_OR_RETURN(parsed.pool, pool->WithCredentials(rpc::SecretsIn(request.secrets())));
  RETURN_IF_ERROR(RequireReaches(request, *parsed.pool));
  VolumeSpec& spec = parsed.spec;
  spec.name = request.name();
  spec.provisioning = parameters.provisioning;
  spec.access_type = use.access_type;
  spec.parameters = parameters.given;
  spec.requested_by = rpc::ClaimIn(request.parameters());
  spec.keep_deleted = parameters.keep_deleted;
  spec.minimum_bytes = kVolumeGranularity;
  if (request.has_capacity_range()) {
    const auto& range = request.capacity_range();
    ASSIGN_OR_RETURN(spec.capacity,
                     CapacityRange::Parse(range.required_bytes(), range.limit_bytes()));
  }
  ASSIGN_OR_RETURN(spec.source, ParseContentSource(request));
  if (spec.source && !IsIn(*spec.source, parsed.pool->info())) {
    spec.content = content;
    if (!content) {
      ASSIGN_OR_RETURN(spec.content, DescribeForeign(*spec.source, spec, pools, *parsed.pool));
    }
  }
  if (use.access_type == AccessType::kMount) {
    const std::string name =
        use.filesystem.empty() ? FilesystemOf(*parsed.pool, spec) : use.filesystem;
    RETURN_IF_ERROR(
        SetFilesystem(spec, name, parameters.mkfs_options, parsed.pool->info().sector_size));
  } else if (!parameters.mkfs_options.empty()) {
    return InvalidArgument("parameter 'mkfsOptions' makes no sense for a raw block volume");
  }
  return parsed;
}

absl::StatusOr<VolumeUse> ParsePublishRequest(
    const csi::v1::ControllerPublishVolumeRequest& request, bool on_one_node) {
  constexpr auto kUnsupported = absl::StatusCode::kInvalidArgument;
  RETURN_IF_ERROR(rpc::RequireId(request.volume_id(), "volume_id"));
  RETURN_IF_ERROR(rpc::RequireNodeId(request.node_id()));
  if (!request.has_volume_capability()) return InvalidArgument("volume_capability is missing");
  if (request.readonly()) {
    return InvalidArgument(
        "readonly is not supported: PUBLISH_READONLY is not advertised; access modes of readers "
        "are");
  }
  ASSIGN_OR_RETURN(VolumeUse use, rpc::ParseCapability(request.volume_capability(), kUnsupported));
  RETURN_IF_ERROR(RequireReach(use, on_one_node, kUnsupported));
  return use;
}

}  // namespace holdfast::controller
