// SPDX-License-Identifier: Apache-2.0
// What an operator says of one pool: "NAME=file:DIRECTORY[,key=value...]".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/bytes.h"

namespace holdfast {

// How much of the storage that carries a pool may be promised. docs/parameters.md explains each.
struct SpacePolicy {
  Bytes reserve_bytes = 0;         // kept for the host: this many bytes, or ...
  double reserve_fraction = 0.05;  // ... this part of the filesystem, whichever is larger
  double overcommit = 1.0;         // thin bytes promised per byte of room; 1: all can be kept
  double watermark = 0.9;          // no thin promises while more than this part is in use
};

struct PoolConfig {
  std::string name;
  std::string kind;                         // "file"
  std::string location;                     // absolute directory
  std::string default_filesystem = "ext4";  // for requests that name none
  SpacePolicy space;
  // The pool was copied to another filesystem on purpose: its marker may be rewritten for it.
  bool accept_move = false;
};

// Parses the text of one --pool flag. INVALID_ARGUMENT naming the part that is wrong; unknown keys
// are errors.
[[nodiscard]] absl::StatusOr<PoolConfig> ParsePool(std::string_view text);

// Builds the same from a name, "file:DIRECTORY" and the keys fs, reserve, overcommit, watermark.
[[nodiscard]] absl::StatusOr<PoolConfig> MakePoolConfig(
    const std::string& name, std::string_view storage,
    const std::map<std::string, std::string>& keys);

}  // namespace holdfast
