// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include <cstring>

#include "core/message_text.h"

namespace holdfast {

absl::Status MakeStatus(absl::StatusCode code, std::string_view message) {
  const std::string text = MessageText(message);
  return absl::Status(code, absl::string_view(text.data(), text.size()));
}

absl::Status OsError(int error_number, std::string_view what) {
  char buffer[128];
  const char* text = strerror_r(error_number, buffer, sizeof(buffer));
  return Internal("{}: {} (errno {})", what, text, error_number);
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return MakeStatus(status.code(), fmt::format("{}: {}", context, MessageOf(status)));
}

absl::Status WithCode(const absl::Status& status, absl::StatusCode code) {
  return status.ok() ? status : MakeStatus(code, MessageOf(status));
}

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

std::string_view CodeName(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return "OK";
    case absl::StatusCode::kCancelled:
      return "CANCELLED";
    case absl::StatusCode::kUnknown:
      return "UNKNOWN";
    case absl::StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case absl::StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case absl::StatusCode::kNotFound:
      return "NOT_FOUND";
    case absl::StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case absl::StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case absl::StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case absl::StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case absl::StatusCode::kAborted:
      return "ABORTED";
    case absl::StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case absl::StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case absl::StatusCode::kInternal:
      return "INTERNAL";
    case absl::StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case absl::StatusCode::kDataLoss:
      return "DATA_LOSS";
    case absl::StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
    default:
      return "UNKNOWN";
  }
}

}  // namespace holdfast
