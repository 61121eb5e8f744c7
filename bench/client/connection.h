// SPDX-License-Identifier: Apache-2.0
// One connection to the driver's socket, as a CO has one.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "proto/csi.grpc.pb.h"

namespace bench {

class Connection final {
 public:
  // Does not share its socket with other connections of this process.
  Connection(const std::string& socket_path, int number);

  [[nodiscard]] csi::v1::Identity::Stub& identity() const { return *identity_; }
  [[nodiscard]] csi::v1::Controller::Stub& controller() const { return *controller_; }
  [[nodiscard]] csi::v1::Node::Stub& node() const { return *node_; }

 private:
  std::unique_ptr<csi::v1::Identity::Stub> identity_;
  std::unique_ptr<csi::v1::Controller::Stub> controller_;
  std::unique_ptr<csi::v1::Node::Stub> node_;
};

// How often a call of this process was refused and asked again.
inline std::atomic<int> refusals = 0;
inline constexpr std::chrono::milliseconds kBeforeNextCall{5};
// How long a call is repeated, from its first attempt on: a machine may be slow.
inline constexpr std::chrono::seconds kPatience{60};

// Calls one method and repeats it when it fails, as a CO does; the time of all attempts counts.
// Throws std::runtime_error with the driver's message if it keeps failing.
template <typename Stub, typename Request, typename Response>
Response Call(Stub& stub,
              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (status.ok()) return response;
    if (std::chrono::steady_clock::now() >= until) {
      throw std::runtime_error(Request::descriptor()->name() + ": " + status.error_message());
    }
    ++refusals;
    std::this_thread::sleep_for(kBeforeNextCall);
  }
}

}  // namespace bench
