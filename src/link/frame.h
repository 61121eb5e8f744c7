// SPDX-License-Identifier: Apache-2.0
// The link's messages as gRPC carries them: bytes, which are measured before they are parsed.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "core/status.h"
#include "proto/link.pb.h"

namespace holdfast::link {

// RESOURCE_EXHAUSTED when there are more than `max_bytes`, or more fields than MaxFields allows
// for that size; INVALID_ARGUMENT when the bytes are no message. Thread-safe.
[[nodiscard]] absl::StatusOr<v1::FromNode> ParseFrame(grpc::ByteBuffer bytes,
                                                      std::size_t max_bytes);

// The command or challenge to send.
[[nodiscard]] grpc::ByteBuffer MakeFrame(const v1::ToNode& message);

}  // namespace holdfast::link
