// SPDX-License-Identifier: Apache-2.0
// What one message and one connection may cost the controller. Both ends keep to it.
#pragma once

#include <cstddef>

namespace holdfast::link {

// Bytes of a message before the proof: Register, its token included, and Proof. What a node has to
// say beyond that follows in later messages.
inline constexpr std::size_t kMaxUnprovedMessageBytes = 64 << 10;

// Bytes of a message after the proof.
inline constexpr std::size_t kMaxMessageBytes = 4 << 20;

// Fields of a message of `bytes` and of all that it contains, at most. One may take a hundred bytes
// of memory, and two on the wire.
constexpr std::size_t MaxFields(std::size_t bytes) { return 4096 + bytes / 8; }

// A node needs one.
inline constexpr int kMaxStreamsPerConnection = 1;

}  // namespace holdfast::link
