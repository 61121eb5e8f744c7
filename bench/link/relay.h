// SPDX-License-Identifier: Apache-2.0
// The controller's part of a transfer and nothing else: a gRPC server that passes messages of the
// second stream on to the first one, over TLS on both sides.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "proto/link.grpc.pb.h"

namespace bench {

// The PEM files of a directory as Kubernetes mounts a Secret of type kubernetes.io/tls.
struct Pem {
  std::string key, certificate, authority;
};
Pem ReadPem(const std::string& directory);

class Relay final : public holdfast::link::v1::Transfer::WithRawCallbackMethod_Join<
                        holdfast::link::v1::Transfer::Service> {
 public:
  // Serves a free port of the loopback interface until the object ends.
  explicit Relay(const Pem& pem);

  int port() const { return port_; }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Join(
      grpc::CallbackServerContext* context) override;

 private:
  class End;

  End* target_ = nullptr;  // the stream that waits for the other one
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace bench
