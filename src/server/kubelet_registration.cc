// SPDX-License-Identifier: Apache-2.0
#include "server/kubelet_registration.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <filesystem>

#include "core/config.h"
#include "core/log.h"
#include "os/mount_propagation.h"
#include "server/acceptor.h"

namespace holdfast::server {
namespace {

constexpr char kType[] = "CSIPlugin";
// The CSI versions that kubelet compares with its own: any 1.x.
constexpr char kCsiVersion[] = "1.0.0";
constexpr std::chrono::milliseconds kRegistrationGrace{500};

}  // namespace

absl::StatusOr<std::unique_ptr<KubeletRegistration>> KubeletRegistration::Start(
    const std::string& directory, const std::string& driver_name, const std::string& csi_socket,
    int file_limit) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return FailedPrecondition(
        "kubelet's registration directory '{}' is not there: is this its plugins_registry?",
        directory);
  }
  ASSIGN_OR_RETURN(const std::string path, SocketPath(SocketIn(directory, driver_name)));
  RETURN_IF_ERROR(PrepareSocket(path));
  std::unique_ptr<KubeletRegistration> registration(
      new KubeletRegistration(driver_name, csi_socket));
  grpc::ServerBuilder builder;
  Acceptor::Take give = GiveConnectionsTo(builder, grpc::InsecureServerCredentials());
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  builder.RegisterService(&registration->service_);
  registration->server_ = builder.BuildAndStart();
  if (registration->server_ == nullptr) return Internal("cannot start the server for kubelet");
  ASSIGN_OR_RETURN(os::UniqueFd socket, ListenOnSocket(path));
  registration->name_ = std::make_unique<SocketName>(path);
  ASSIGN_OR_RETURN(registration->acceptor_,
                   Acceptor::Start(std::move(socket), file_limit, kLocalReserve, std::move(give)));
  return registration;
}

std::string KubeletRegistration::SocketIn(const std::string& directory,
                                          const std::string& driver_name) {
  return fmt::format("{}/{}-reg.sock", directory, driver_name);
}

KubeletRegistration::~KubeletRegistration() {
  acceptor_.reset();
  name_.reset();
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + kRegistrationGrace);
}

grpc::Status KubeletRegistration::RegistrationService::GetInfo(
    grpc::ServerContext*, const pluginregistration::InfoRequest*,
    pluginregistration::PluginInfo* response) {
  response->set_type(kType);
  response->set_name(driver_name_);
  response->set_endpoint(csi_socket_);
  response->add_supported_versions(kCsiVersion);
  return grpc::Status::OK;
}

grpc::Status KubeletRegistration::RegistrationService::NotifyRegistrationStatus(
    grpc::ServerContext*, const pluginregistration::RegistrationStatus* request,
    pluginregistration::RegistrationStatusResponse*) {
  if (request->plugin_registered()) {
    LogInfo("kubelet has registered '{}'", driver_name_);
  } else {
    LogError("kubelet has not registered '{}': {}", driver_name_, request->error());
  }
  return grpc::Status::OK;
}

absl::Status MountsReachKubelet(const std::string& directory) {
  return os::RequireSharedMounts(std::filesystem::path(directory).parent_path());
}

}  // namespace holdfast::server
