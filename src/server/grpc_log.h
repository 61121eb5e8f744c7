// SPDX-License-Identifier: Apache-2.0
// Writes the messages of gRPC and Protobuf to our log, and notices what only they report.
#pragma once

#include <cstdint>

namespace holdfast::server {

// For the whole process, before anything of gRPC starts. Its traces (GRPC_TRACE) are switched off:
// they hold the bytes of messages, with secrets.
void RouteGrpcLog();

// TLS handshakes that failed since then: no certificate, a wrong or an expired one, no TLS at all.
// gRPC reports these nowhere else. Thread-safe.
[[nodiscard]] std::uint64_t FailedHandshakes();

}  // namespace holdfast::server
