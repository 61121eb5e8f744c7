// SPDX-License-Identifier: Apache-2.0
#include "core/status.h"

#include <grpcpp/support/status_code_enum.h>

#include <catch2/catch.hpp>
#include <cerrno>

#include "support/outcome.h"

namespace holdfast {
namespace status_test {

absl::Status FailAt(int step, int& reached) {
  for (reached = 0; reached < 3; ++reached) {
    RETURN_IF_ERROR(reached == step ? NotFound("step {}", step) : absl::OkStatus());
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Doubled(const absl::StatusOr<int>& input) {
  ASSIGN_OR_RETURN(const int value, input);
  return 2 * value;
}

TEST_CASE("a system call's failure is internal and names what, why and the number") {
  const absl::Status status = OsError(ENOSPC, "write '/x'");
  CHECK(status.code() == absl::StatusCode::kInternal);
  CHECK(MessageOf(status) == "write '/x': No space left on device (errno 28)");
}

TEST_CASE("context is put before the message and keeps the code; success needs none") {
  const absl::Status status = Annotate(Aborted("busy"), "volume 'v'");
  CHECK(status == Aborted("volume 'v': busy"));
  CHECK(Annotate(absl::OkStatus(), "volume 'v'").ok());
}

TEST_CASE("another code keeps the message; success stays success") {
  CHECK(WithCode(NotFound("gone"), absl::StatusCode::kUnavailable) == Unavailable("gone"));
  CHECK(WithCode(absl::OkStatus(), absl::StatusCode::kUnavailable).ok());
}

TEST_CASE("each constructor gives its code") {
  CHECK(InvalidArgument("m").code() == absl::StatusCode::kInvalidArgument);
  CHECK(NotFound("m").code() == absl::StatusCode::kNotFound);
  CHECK(AlreadyExists("m").code() == absl::StatusCode::kAlreadyExists);
  CHECK(FailedPrecondition("m").code() == absl::StatusCode::kFailedPrecondition);
  CHECK(ResourceExhausted("m").code() == absl::StatusCode::kResourceExhausted);
  CHECK(OutOfRange("m").code() == absl::StatusCode::kOutOfRange);
  CHECK(Aborted("m").code() == absl::StatusCode::kAborted);
  CHECK(Unavailable("m").code() == absl::StatusCode::kUnavailable);
  CHECK(Internal("{}", "m") == MakeStatus(absl::StatusCode::kInternal, "m"));
}

TEST_CASE("codes have gRPC's names and gRPC's numbers") {
  const struct {
    absl::StatusCode code;
    grpc::StatusCode grpc_code;
    std::string_view name;
  } rows[] = {
      {absl::StatusCode::kOk, grpc::OK, "OK"},
      {absl::StatusCode::kCancelled, grpc::CANCELLED, "CANCELLED"},
      {absl::StatusCode::kUnknown, grpc::UNKNOWN, "UNKNOWN"},
      {absl::StatusCode::kInvalidArgument, grpc::INVALID_ARGUMENT, "INVALID_ARGUMENT"},
      {absl::StatusCode::kDeadlineExceeded, grpc::DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"},
      {absl::StatusCode::kNotFound, grpc::NOT_FOUND, "NOT_FOUND"},
      {absl::StatusCode::kAlreadyExists, grpc::ALREADY_EXISTS, "ALREADY_EXISTS"},
      {absl::StatusCode::kPermissionDenied, grpc::PERMISSION_DENIED, "PERMISSION_DENIED"},
      {absl::StatusCode::kResourceExhausted, grpc::RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED"},
      {absl::StatusCode::kFailedPrecondition, grpc::FAILED_PRECONDITION, "FAILED_PRECONDITION"},
      {absl::StatusCode::kAborted, grpc::ABORTED, "ABORTED"},
      {absl::StatusCode::kOutOfRange, grpc::OUT_OF_RANGE, "OUT_OF_RANGE"},
      {absl::StatusCode::kUnimplemented, grpc::UNIMPLEMENTED, "UNIMPLEMENTED"},
      {absl::StatusCode::kInternal, grpc::INTERNAL, "INTERNAL"},
      {absl::StatusCode::kUnavailable, grpc::UNAVAILABLE, "UNAVAILABLE"},
      {absl::StatusCode::kDataLoss, grpc::DATA_LOSS, "DATA_LOSS"},
      {absl::StatusCode::kUnauthenticated, grpc::UNAUTHENTICATED, "UNAUTHENTICATED"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CHECK(CodeName(row.code) == row.name);
    CHECK(static_cast<int>(row.code) == static_cast<int>(row.grpc_code));
  }
}

TEST_CASE("an error ends the function at once, success goes on") {
  int reached = -1;
  CHECK_FAILS(FailAt(1, reached), kNotFound, "step 1");
  CHECK(reached == 1);
  CHECK(FailAt(7, reached).ok());
  CHECK(reached == 3);
}

TEST_CASE("a value is unpacked, an error handed on") {
  CHECK(*Doubled(21) == 42);
  CHECK_FAILS(Doubled(Aborted("busy")), kAborted, "busy");
}

}  // namespace status_test
}  // namespace holdfast
