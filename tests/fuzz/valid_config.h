// SPDX-License-Identifier: Apache-2.0
// Properties of every configuration that the driver would start with, whatever its source.
#pragma once

#include <algorithm>
#include <array>
#include <ranges>
#include <set>

#include "core/config.h"
#include "core/volume_id.h"
#include "file/file_kind.h"
#include "input.h"
#include "pool/space_policy.h"
#include "rbd/ceph_access.h"

namespace holdfast::fuzz {

inline PoolSyntaxes Kinds() {
  static const std::array<const PoolSyntax*, 2> kinds{&file::FileSyntax(), &rbd::RbdSyntax()};
  return kinds;
}

inline void RequireSoundCeph(const PoolConfig& pool) {
  const rbd::CephAccess ceph = *rbd::ParseCephAccess(pool.keys);
  Require(std::ranges::count(pool.location, '/') <= 1, "a Ceph pool has one namespace at most");
  for (const auto name : std::views::split(pool.location, '/')) {
    Require(rbd::CheckCephName({name.begin(), name.end()}).ok(), "a Ceph pool's names are checked");
  }
  Require(!ceph.monitors.empty() || ceph.conf.starts_with('/'), "a cluster can be found");
  Require(ceph.user.empty() ? ceph.keyring.empty() : ceph.keyring.starts_with('/'),
          "a user has a keyring");
}

inline void RequireSound(const PoolConfig& pool) {
  Require(ValidatePoolName(pool.name).ok(), "a pool's name is checked");
  if (pool.syntax == &rbd::RbdSyntax()) return RequireSoundCeph(pool);
  Require(pool.syntax == &file::FileSyntax(), "a pool is of a kind that there is");
  Require(pool.location.starts_with('/'), "a pool is at an absolute path");
  const pool::SpacePolicy space = *pool::ParseSpacePolicy(pool.keys);
  Require(space.reserve_bytes >= 0 && space.reserve_fraction >= 0 && space.reserve_fraction <= 1,
          "a reserve is possible");
  Require(space.overcommit >= 1 && space.watermark >= 0 && space.watermark <= 1,
          "overcommit and watermark are possible");
}

inline void RequireSound(const Config& config) {
  for (const PoolConfig& pool : config.pools) RequireSound(pool);
  if (!ValidateConfig(config).ok()) return;
  Require(SocketPath(config.endpoint).ok(), "what is valid can be served on");
  Require(config.state_dir.starts_with('/'), "the state directory is absolute");
  Require(config.max_volumes >= 0, "a number of volumes is not negative");
  Require(config.copy_rate == 0 || config.copy_rate >= kMiB, "a copy rate is 0 or can be kept");
  Require((config.link_listen.empty() && config.link_controller.empty()) ||
              config.link_tls.starts_with('/'),
          "the link is never without certificates");
  Require(!config.link_listen.empty() || !config.pools.empty(),
          "there are pools, or nodes that have them");
  Require(config.link_listen.empty() ||
              std::ranges::all_of(config.pools,
                                  [](const auto& pool) { return pool.syntax->is_shared; }),
          "a controller of nodes has only pools that need none");
  std::set<std::string> names;
  for (const PoolConfig& pool : config.pools) names.insert(pool.name);
  Require(names.size() == config.pools.size(), "no two pools have one name");
}

}  // namespace holdfast::fuzz
