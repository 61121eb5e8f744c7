// SPDX-License-Identifier: Apache-2.0
#include "link/credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <filesystem>

namespace holdfast::link {
namespace {

namespace tls = grpc::experimental;

constexpr unsigned kRefreshSeconds = 5;

std::shared_ptr<tls::CertificateProviderInterface> Watch(const TlsDirectory& directory) {
  return std::make_shared<tls::FileWatcherCertificateProvider>(
      directory.path + "/tls.key", directory.path + "/tls.crt", directory.path + "/ca.crt",
      kRefreshSeconds);
}

}  // namespace

absl::Status CheckTls(const TlsDirectory& directory) {
  for (const char* name : {"tls.crt", "tls.key", "ca.crt"}) {
    const std::string file = directory.path + "/" + name;
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    if (error || size == 0) {
      return FailedPrecondition("the link's certificates: '{}' is missing or empty", file);
    }
  }
  return absl::OkStatus();
}

std::shared_ptr<grpc::ServerCredentials> ServerTls(const TlsDirectory& directory) {
  tls::TlsServerCredentialsOptions options(Watch(directory));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> ChannelTls(const TlsDirectory& directory) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(Watch(directory));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(options);
}

}  // namespace holdfast::link
