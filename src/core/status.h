// SPDX-License-Identifier: Apache-2.0
// The one error vocabulary of Holdfast: absl::Status, whose codes are numerically gRPC's.
//
// A failed system call is INTERNAL (OsError) unless its meaning is known, as ENOSPC where space is
// allocated: codes such as NOT_FOUND or RESOURCE_EXHAUSTED
// have a meaning and consequences in the CSI contract, so they are chosen only where that meaning
// is known to apply. Messages are lower case, without a final period: what failed, on what, why,
// and what to do.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast {

// Builds a status of any code from a finished message, which becomes MessageText.
[[nodiscard]] absl::Status MakeStatus(absl::StatusCode code, std::string_view message);

// INTERNAL with "<what>: <strerror> (errno <number>)". `error_number` is an errno value.
[[nodiscard]] absl::Status OsError(int error_number, std::string_view what);

// The same code with "<context>: " before the message. OK stays OK.
[[nodiscard]] absl::Status Annotate(const absl::Status& status, std::string_view context);

// The same message with another code, for the layer that knows what a failure means. OK stays OK.
[[nodiscard]] absl::Status WithCode(const absl::Status& status, absl::StatusCode code);

// The message as a std::string (absl's string_view need not be std's).
[[nodiscard]] std::string MessageOf(const absl::Status& status);

// "INVALID_ARGUMENT", "OK", ...: gRPC's spelling.
[[nodiscard]] std::string_view CodeName(absl::StatusCode code);

template <typename... Args>
[[nodiscard]] absl::Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInvalidArgument,
                    fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kNotFound, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status AlreadyExists(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kAlreadyExists,
                    fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status FailedPrecondition(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status ResourceExhausted(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status OutOfRange(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kOutOfRange,
                    fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status Aborted(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kAborted, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status Unavailable(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kUnavailable,
                    fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
[[nodiscard]] absl::Status Internal(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInternal, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace holdfast

#define HOLDFAST_CONCAT_INNER(a, b) a##b
#define HOLDFAST_CONCAT(a, b) HOLDFAST_CONCAT_INNER(a, b)

// Returns the status of `expression` from the current function unless it is OK.
#define RETURN_IF_ERROR(expression)                                         \
  do {                                                                      \
    if (absl::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// Assigns the value of a StatusOr expression to `target`, or returns its status.
#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_IMPL(HOLDFAST_CONCAT(status_or_, __LINE__), target, expression)
#define ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                             \
  if (!result.ok()) return result.status();               \
  target = *std::move(result)
