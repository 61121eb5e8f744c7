// SPDX-License-Identifier: Apache-2.0
#include "client/connection.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

namespace bench {

Connection::Connection(const std::string& socket_path, int number) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("grpc.use_local_subchannel_pool", 1);
  arguments.SetInt("bench.connection", number);
  const auto channel = grpc::CreateCustomChannel("unix:" + socket_path,
                                                 grpc::InsecureChannelCredentials(), arguments);
  identity_ = csi::v1::Identity::NewStub(channel);
  controller_ = csi::v1::Controller::NewStub(channel);
  node_ = csi::v1::Node::NewStub(channel);
}

}  // namespace bench
