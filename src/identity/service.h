// SPDX-License-Identifier: Apache-2.0
// csi.v1.Identity: who this is, what it can do, whether it is well.
#pragma once

#include <string>

#include "pool/pools.h"
#include "proto/csi.grpc.pb.h"
#include "rpc/call_runner.h"

namespace holdfast::identity {

// Thread-safe. Answers at any time and waits for nothing: sidecars exit when it is slow.
class Service final : public csi::v1::Identity::Service {
 public:
  Service(std::string driver_name, const pool::Pools& pools, rpc::CallRunner& calls)
      : driver_name_(std::move(driver_name)), pools_(pools), calls_(calls) {}

  grpc::Status GetPluginInfo(grpc::ServerContext* context,
                             const csi::v1::GetPluginInfoRequest* request,
                             csi::v1::GetPluginInfoResponse* response) override;
  grpc::Status GetPluginCapabilities(grpc::ServerContext* context,
                                     const csi::v1::GetPluginCapabilitiesRequest* request,
                                     csi::v1::GetPluginCapabilitiesResponse* response) override;
  // ready=false while recovering (a sidecar waits for that; any error makes it exit);
  // FAILED_PRECONDITION when a program or a pool's directory is missing.
  grpc::Status Probe(grpc::ServerContext* context, const csi::v1::ProbeRequest* request,
                     csi::v1::ProbeResponse* response) override;

 private:
  absl::Status CheckHealth() const;

  const std::string driver_name_;
  const pool::Pools& pools_;
  rpc::CallRunner& calls_;
};

}  // namespace holdfast::identity
