// SPDX-License-Identifier: Apache-2.0
// What an operator says of one pool: "NAME=KIND:LOCATION[,key=value...]". Each kind of pool states
// its locations and keys in a PoolSyntax; nothing here knows a kind.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"

namespace holdfast {

using PoolKeys = std::map<std::string, std::string>;

struct PoolKey {
  std::string_view name;
  // The location alone does not say which storage it is: pools with different values of this key
  // are different places.
  bool selects_storage = false;
};

// How pools of one kind are written. All texts are constants.
struct PoolSyntax {
  std::string_view kind;          // before the colon, and the location's key in the YAML file
  std::string_view location;      // the form of a location, for help and errors: "DIRECTORY"
  std::string_view help;          // lines for `holdfast serve --help`: a pool's keys and defaults
  std::span<const PoolKey> keys;  // beside "fs", which all kinds have
  // The storage is on no node: a controller serves it without one, and any node may have its
  // volumes.
  bool is_shared = false;
  // INVALID_ARGUMENT naming what is wrong with a location or with the values of known keys.
  absl::Status (*check)(const std::string& location, const PoolKeys& keys) = nullptr;
};

// Those of all kinds.
using PoolSyntaxes = std::span<const PoolSyntax* const>;

struct PoolConfig {
  std::string name;
  const PoolSyntax* syntax = nullptr;       // of its kind; never null in a pool that was parsed
  std::string location;                     // as the kind writes it
  std::string default_filesystem = "ext4";  // for requests that name none
  PoolKeys keys;                            // the kind's own
  // The pool was copied to another filesystem on purpose: its marker may be rewritten for it.
  bool accept_move = false;

  [[nodiscard]] std::string kind() const { return std::string(syntax->kind); }
};

// True if both configurations are of the same storage.
[[nodiscard]] bool IsSameStorage(const PoolConfig& one, const PoolConfig& other);

// "file:DIRECTORY or ...": what a pool can be, for help and errors; `before` precedes each form,
// `after` follows it.
[[nodiscard]] std::string PoolForms(PoolSyntaxes kinds, std::string_view before = "",
                                    std::string_view after = "");

// Parses the text of one --pool flag. INVALID_ARGUMENT naming the part that is wrong; unknown keys
// are errors.
[[nodiscard]] absl::StatusOr<PoolConfig> ParsePool(std::string_view text, PoolSyntaxes kinds);

// Builds the same from a name, "KIND:LOCATION" and keys.
[[nodiscard]] absl::StatusOr<PoolConfig> MakePoolConfig(const std::string& name,
                                                        std::string_view storage,
                                                        const PoolKeys& keys, PoolSyntaxes kinds);

}  // namespace holdfast
