// SPDX-License-Identifier: Apache-2.0
// How much a part of a list for people has.
#pragma once

#include <cstddef>

namespace holdfast::server {

// Entries of a part, and bytes of them after which no more are added.
inline constexpr std::size_t kMostEntries = 512;
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;
// Paths and pods of one volume of another node.
inline constexpr int kMostPaths = 32;

}  // namespace holdfast::server
