// SPDX-License-Identifier: Apache-2.0
#include "identity/service.h"

#include <fmt/ranges.h>

#include <chrono>
#include <vector>

#include "core/version.h"
#include "fs/filesystem.h"
#include "os/capabilities.h"
#include "os/process.h"

namespace holdfast::identity {
namespace {

using Capability = csi::v1::PluginCapability;

// Health is asked for with less than a second's patience.
constexpr std::chrono::milliseconds kPatience{400};

absl::Status RequirePrograms(const std::string& filesystem_name, const std::string& pool) {
  const fs::Filesystem* const filesystem = fs::FindFilesystem(filesystem_name);
  if (filesystem == nullptr) return Internal("unknown filesystem '{}'", filesystem_name);
  for (const std::string& program : filesystem->programs()) {
    if (os::FindProgram(program).ok()) continue;
    return FailedPrecondition(
        "program '{}' is missing, which {}, the default filesystem of pool "
        "'{}', needs; `holdfast doctor` names its package",
        program, filesystem_name, pool);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Service::CheckHealth() const {
  for (const auto& need : needs_) RETURN_IF_ERROR(need());
  const std::vector<pool::Pool*> pools = pools_.all();
  std::vector<std::string> problems;
  for (pool::Pool* const pool : pools) {
    const absl::Status ready = pools_.questions().Put(
        *pool, [](pool::Pool& one) { return one.CheckReady(); }, kPatience);
    RETURN_IF_ERROR(RequirePrograms(pool->info().default_filesystem, pool->info().name));
    if (!ready.ok()) problems.push_back(MessageOf(ready));
  }
  if (pools.empty() || problems.size() < pools.size()) return absl::OkStatus();
  return FailedPrecondition("{}", fmt::join(problems, "; "));
}

grpc::Status Service::GetPluginInfo(grpc::ServerContext*, const csi::v1::GetPluginInfoRequest*,
                                    csi::v1::GetPluginInfoResponse* response) {
  return calls_.RunAlways({"GetPluginInfo", "", LogLevel::kDebug}, [&] {
    response->set_name(driver_name_);
    response->set_vendor_version(kVersion);
    return absl::OkStatus();
  });
}

grpc::Status Service::GetPluginCapabilities(grpc::ServerContext*,
                                            const csi::v1::GetPluginCapabilitiesRequest*,
                                            csi::v1::GetPluginCapabilitiesResponse* response) {
  return calls_.RunAlways({"GetPluginCapabilities", "", LogLevel::kDebug}, [&] {
    response->add_capabilities()->mutable_service()->set_type(
        Capability::Service::CONTROLLER_SERVICE);
    response->add_capabilities()->mutable_service()->set_type(
        Capability::Service::VOLUME_ACCESSIBILITY_CONSTRAINTS);
    response->add_capabilities()->mutable_service()->set_type(
        Capability::Service::GROUP_CONTROLLER_SERVICE);
    response->add_capabilities()->mutable_service()->set_type(
        Capability::Service::SNAPSHOT_METADATA_SERVICE);
    response->add_capabilities()->mutable_volume_expansion()->set_type(
        Capability::VolumeExpansion::ONLINE);
    return absl::OkStatus();
  });
}

grpc::Status Service::Probe(grpc::ServerContext*, const csi::v1::ProbeRequest*,
                            csi::v1::ProbeResponse* response) {
  return calls_.RunAlways({"Probe", "", LogLevel::kDebug}, [&]() -> absl::Status {
    const bool ready = calls_.ready();
    response->mutable_ready()->set_value(ready);
    return ready ? CheckHealth() : absl::OkStatus();
  });
}

}  // namespace holdfast::identity
