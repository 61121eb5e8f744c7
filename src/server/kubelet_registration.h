// SPDX-License-Identifier: Apache-2.0
// Telling kubelet that the driver is there, as node-driver-registrar does for others.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "core/status.h"
#include "proto/pluginregistration.grpc.pb.h"
#include "server/acceptor.h"
#include "server/socket.h"

namespace holdfast::server {

// The socket `<directory>/<driver>-reg.sock`, which kubelet watches for (plugin registration v1).
// While the socket exists, the kubelet lists the driver on its node; this object removes it.
// Kubelet's answer is logged: without it no pod with a volume starts on the node.
class KubeletRegistration final {
 public:
  // `csi_socket` must have the same path for kubelet as for us. FAILED_PRECONDITION when the
  // directory is missing or a process answers on the socket. `file_limit` is that of the process.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<KubeletRegistration>> Start(
      const std::string& directory, const std::string& driver_name, const std::string& csi_socket,
      int file_limit);
  // Where it listens.
  [[nodiscard]] static std::string SocketIn(const std::string& directory,
                                            const std::string& driver_name);
  KubeletRegistration(const KubeletRegistration&) = delete;
  KubeletRegistration& operator=(const KubeletRegistration&) = delete;
  ~KubeletRegistration();

 private:
  class RegistrationService final : public pluginregistration::Registration::Service {
   public:
    RegistrationService(std::string driver_name, std::string csi_socket)
        : driver_name_(std::move(driver_name)), csi_socket_(std::move(csi_socket)) {}
    grpc::Status GetInfo(grpc::ServerContext* context,
                         const pluginregistration::InfoRequest* request,
                         pluginregistration::PluginInfo* response) override;
    grpc::Status NotifyRegistrationStatus(
        grpc::ServerContext* context, const pluginregistration::RegistrationStatus* request,
        pluginregistration::RegistrationStatusResponse* response) override;

   private:
    const std::string driver_name_;
    const std::string csi_socket_;
  };

  KubeletRegistration(std::string driver_name, std::string csi_socket)
      : service_(std::move(driver_name), std::move(csi_socket)) {}

  RegistrationService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<SocketName> name_;
  std::unique_ptr<Acceptor> acceptor_;
};

// FAILED_PRECONDITION, with the remedy, unless what is mounted in kubelet's directory, which the
// registration's `directory` is in, reaches kubelet and the pods.
[[nodiscard]] absl::Status MountsReachKubelet(const std::string& directory);

}  // namespace holdfast::server
