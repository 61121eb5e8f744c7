// SPDX-License-Identifier: Apache-2.0
// The client's side of a Holdfast socket.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <memory>
#include <string>

#include "core/status.h"

namespace holdfast::cli {

// How long an answer may take; the slowest call formats a filesystem.
inline constexpr std::chrono::seconds kAnswerTime{30};

// Connects to the socket at `path` once and hangs up again: OK if a server listens. Otherwise
// NOT_FOUND: there is no socket; UNAVAILABLE: it is stale, no server listens; PERMISSION_DENIED;
// FAILED_PRECONDITION: it is not a socket. The message says what to do.
[[nodiscard]] absl::Status CheckListener(const std::string& path);

// A channel to the server on `endpoint`, sharing no connection with another channel.
// INVALID_ARGUMENT unless it is a Unix socket; otherwise what CheckListener says.
[[nodiscard]] absl::StatusOr<std::shared_ptr<grpc::Channel>> Connect(const std::string& endpoint);

// A call's answer as our own status. UNIMPLEMENTED says that another program answers on the socket.
[[nodiscard]] absl::Status FromGrpc(const grpc::Status& status);

// Makes one blocking call of `method`, at most kAnswerTime: Call(stub, &Stub::ListPools, request).
template <typename Stub, typename Request, typename Response>
[[nodiscard]] absl::StatusOr<Response> Call(Stub& stub,
                                            grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                         const Request&, Response*),
                                            const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswerTime);
  Response response;
  RETURN_IF_ERROR(FromGrpc((stub.*method)(&context, request, &response)));
  return response;
}

// The same of a method that answers with a stream: all parts as one message.
template <typename Stub, typename Request, typename Response>
[[nodiscard]] absl::StatusOr<Response> CallForParts(
    Stub& stub,
    std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(grpc::ClientContext*,
                                                                  const Request&),
    const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAnswerTime);
  const auto reader = (stub.*method)(&context, request);
  Response whole;
  for (Response part; reader->Read(&part);) whole.MergeFrom(part);
  RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  return whole;
}

}  // namespace holdfast::cli
