// SPDX-License-Identifier: Apache-2.0
#include "server/grpc_connections.h"

namespace holdfast::server {

Acceptor::Take GiveConnectionsTo(grpc::ServerBuilder& builder,
                                 std::shared_ptr<grpc::ServerCredentials> credentials) {
  using Connections = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  const std::shared_ptr acceptor = builder.experimental().AddExternalConnectionAcceptor(
      Connections::FROM_FD, std::move(credentials));
  return [acceptor](int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
    taken.fd = connection;
    acceptor->HandleNewConnection(&taken);
  };
}

}  // namespace holdfast::server
