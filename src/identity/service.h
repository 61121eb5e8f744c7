// SPDX-License-Identifier: Apache-2.0
// The csi.v1.Identity service: the plugin's name and version, capabilities and health.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pool/pools.h"
#include "proto/csi.grpc.pb.h"
#include "rpc/call_runner.h"

namespace holdfast::identity {

// What the process must be able to do: each is OK, or FAILED_PRECONDITION with the remedy. A
// controller needs nothing.
using Needs = std::vector<std::function<absl::Status()>>;

// Thread-safe. Answers at any time and waits for nothing: sidecars exit when it is slow.
class Service final : public csi::v1::Identity::Service {
 public:
  Service(std::string driver_name, const pool::Pools& pools, rpc::CallRunner& calls, Needs needs)
      : driver_name_(std::move(driver_name)),
        pools_(pools),
        calls_(calls),
        needs_(std::move(needs)) {}

  grpc::Status GetPluginInfo(grpc::ServerContext* context,
                             const csi::v1::GetPluginInfoRequest* request,
                             csi::v1::GetPluginInfoResponse* response) override;
  grpc::Status GetPluginCapabilities(grpc::ServerContext* context,
                                     const csi::v1::GetPluginCapabilitiesRequest* request,
                                     csi::v1::GetPluginCapabilitiesResponse* response) override;
  // ready=false while recovering (a sidecar waits for that; any error makes it exit);
  // FAILED_PRECONDITION with the message of CheckHealth.
  grpc::Status Probe(grpc::ServerContext* context, const csi::v1::ProbeRequest* request,
                     csi::v1::ProbeResponse* response) override;

  // FAILED_PRECONDITION when a right, a device or a program is missing, or every pool. One pool
  // that is missing among others is not one: its volumes are unavailable, the others are served.
  [[nodiscard]] absl::Status CheckHealth() const;

 private:
  const std::string driver_name_;
  const pool::Pools& pools_;
  rpc::CallRunner& calls_;
  const Needs needs_;
};

}  // namespace holdfast::identity
