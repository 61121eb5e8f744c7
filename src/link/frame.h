// SPDX-License-Identifier: Apache-2.0
// The link's messages as gRPC carries them: bytes, which are measured before they are parsed.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <string>

#include "core/status.h"
#include "proto/link.pb.h"

namespace holdfast::link {

// RESOURCE_EXHAUSTED when there are more than `max_bytes`, or more fields than MaxFields allows
// for that size; INVALID_ARGUMENT when the bytes are not a message. Thread-safe.
[[nodiscard]] absl::StatusOr<v1::FromNode> ParseFrame(grpc::ByteBuffer bytes,
                                                      std::size_t max_bytes);
// The same for the first part of a stream of service Transfer, within kMaxUnprovedMessageBytes.
[[nodiscard]] absl::StatusOr<v1::Part> ParsePart(grpc::ByteBuffer bytes);

// What came as bytes within a frame, whatever its type: with the same limit of fields and the same
// errors. At most as many bytes as a frame may have. Thread-safe.
[[nodiscard]] absl::Status ParseWithin(const std::string& bytes,
                                       google::protobuf::Message& message);

// The command or challenge to send.
[[nodiscard]] grpc::ByteBuffer MakeFrame(const v1::ToNode& message);

}  // namespace holdfast::link
