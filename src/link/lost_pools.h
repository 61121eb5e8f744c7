// SPDX-License-Identifier: Apache-2.0
// The pools of nodes that an operator has declared lost (docs/adr/0033). Nothing here is concluded
// from a node that is silent.
#pragma once

#include <string>
#include <vector>

#include "core/lost_pool.h"
#include "proto/link.pb.h"

namespace holdfast::link {

// Immutable, so thread-safe.
class LostPools final {
 public:
  explicit LostPools(std::vector<LostPool> declared) : declared_(std::move(declared)) {}

  // Null if the node's pool of that name is not declared.
  [[nodiscard]] const LostPool* Find(const std::string& node, const std::string& pool) const;
  [[nodiscard]] bool HasNode(const std::string& node) const;
  [[nodiscard]] const std::vector<LostPool>& declared() const { return declared_; }

  // FAILED_PRECONDITION, naming the declaration, if the node serves a pool that is declared lost.
  // One that it knows and cannot serve is what was declared, and one with another id is another
  // disk.
  [[nodiscard]] absl::Status RequireNone(const std::string& node, const v1::Pools& pools) const;

 private:
  const std::vector<LostPool> declared_;
};

}  // namespace holdfast::link
