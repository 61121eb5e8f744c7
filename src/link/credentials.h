// SPDX-License-Identifier: Apache-2.0
// The credentials of both ends of the link: TLS with certificates on both sides, read again when
// the files change.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "core/status.h"

namespace holdfast::link {

// A directory as Kubernetes mounts a Secret of type kubernetes.io/tls: tls.crt and tls.key are this
// side's certificate (with its chain) and key, ca.crt names the authorities that may have signed
// the other side's. The files are looked at every few seconds; a connection keeps the certificate
// it began with.
struct TlsDirectory {
  std::string path;
};

// FAILED_PRECONDITION naming the file that is missing or empty.
[[nodiscard]] absl::Status CheckTls(const TlsDirectory& directory);

// A client without a certificate of the CA is turned away in the handshake.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> ServerTls(const TlsDirectory& directory);

// The server's certificate must be of the CA and name the host that is dialled.
[[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> ChannelTls(const TlsDirectory& directory);

}  // namespace holdfast::link
