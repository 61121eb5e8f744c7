// SPDX-License-Identifier: Apache-2.0
// A gRPC server without a socket.
#pragma once

#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <initializer_list>
#include <memory>

namespace holdfast::test {

class InProcessServer final {
 public:
  // The services must outlive it.
  InProcessServer(std::initializer_list<grpc::Service*> services) {
    grpc::ServerBuilder builder;
    for (grpc::Service* const service : services) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    REQUIRE(server_ != nullptr);
  }
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;
  // Cancels the running calls.
  ~InProcessServer() { server_->Shutdown(std::chrono::system_clock::now()); }

  [[nodiscard]] std::shared_ptr<grpc::Channel> NewChannel() const {
    return server_->InProcessChannel({});
  }

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace holdfast::test
