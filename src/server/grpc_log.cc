// SPDX-License-Identifier: Apache-2.0
#include "server/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <stdlib.h>

#include <atomic>
#include <string_view>

#include "core/log.h"

namespace holdfast::server {
namespace {

std::atomic<std::uint64_t> failed_handshakes{0};

void Write(gpr_log_func_args* line) {
  const std::string_view message = line->message;
  if (message.starts_with("Handshake failed")) {
    failed_handshakes.fetch_add(1, std::memory_order_relaxed);
    static LogThrottle lines;
    if (const auto skipped = lines.Take()) {
      LogWarning("link: a peer was refused: {}{}", message, LogThrottle::Note(*skipped));
    }
    return;
  }
  LogMessage(line->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning : LogLevel::kDebug,
             "gRPC: " + std::string(message));
}

// For instance about a message that is not UTF-8. It names the field, never the value.
void WriteOfProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  LogWarning("Protobuf: {}", message);
}

}  // namespace

void RouteGrpcLog() {
  gpr_set_log_function(&Write);
  ::unsetenv("GRPC_TRACE");
  google::protobuf::SetLogHandler(&WriteOfProtobuf);
}

std::uint64_t FailedHandshakes() { return failed_handshakes.load(std::memory_order_relaxed); }

}  // namespace holdfast::server
