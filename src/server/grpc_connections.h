// SPDX-License-Identifier: Apache-2.0
// How a gRPC server gets connections that an Acceptor took.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <memory>

#include "server/acceptor.h"

namespace holdfast::server {

// To be called before `builder` builds its server; the result may be used as long as that server
// lives.
[[nodiscard]] Acceptor::Take GiveConnectionsTo(
    grpc::ServerBuilder& builder, std::shared_ptr<grpc::ServerCredentials> credentials);

}  // namespace holdfast::server
