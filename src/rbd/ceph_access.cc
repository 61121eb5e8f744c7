// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_access.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace holdfast::rbd {
namespace {

constexpr std::string_view kTopologyKey = "topology";

constexpr std::array<std::pair<std::string_view, std::string CephAccess::*>, 5> kAccessKeys{{
    {"monitors", &CephAccess::monitors},
    {"conf", &CephAccess::conf},
    {"user", &CephAccess::user},
    {"keyring", &CephAccess::keyring},
    {"dataPool", &CephAccess::data_pool},
}};

constexpr std::array kKeys{PoolKey{kAccessKeys[0].first, true}, PoolKey{kAccessKeys[1].first, true},
                           PoolKey{kAccessKeys[2].first, true}, PoolKey{kAccessKeys[3].first, true},
                           PoolKey{kAccessKeys[4].first, true}, PoolKey{kTopologyKey}};

absl::Status CheckAccess(const CephAccess& ceph) {
  if (!ceph.data_pool.empty()) RETURN_IF_ERROR(Annotate(CheckCephName(ceph.data_pool), "dataPool"));
  if (ceph.user.empty() != ceph.keyring.empty()) {
    return InvalidArgument(
        "{}= is missing: user and keyring go together; without both each call must bring them as "
        "secrets",
        ceph.user.empty() ? "user" : "keyring");
  }
  if (!ceph.user.empty()) RETURN_IF_ERROR(Annotate(CheckCephName(ceph.user), "user"));
  if (ceph.monitors.empty() && ceph.conf.empty()) {
    return InvalidArgument("the cluster is not named; give monitors=HOST:PORT;HOST:PORT or conf=");
  }
  for (const auto& [key, path] : {std::pair("conf", &ceph.conf), {"keyring", &ceph.keyring}}) {
    if (!path->empty() && !path->starts_with('/')) {
      return InvalidArgument("{}='{}' must be an absolute path", key, *path);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLocation(const std::string& location) {
  const std::size_t slash = location.find('/');
  RETURN_IF_ERROR(CheckCephName(location.substr(0, slash)));
  return slash == std::string::npos ? absl::OkStatus() : CheckCephName(location.substr(slash + 1));
}

absl::Status Check(const std::string& location, const PoolKeys& keys) {
  RETURN_IF_ERROR(CheckLocation(location));
  RETURN_IF_ERROR(ParseTopology(keys).status());
  return ParseCephAccess(keys).status();
}

constexpr PoolSyntax kSyntax{
    .kind = "rbd",
    .location = "CEPHPOOL[/NAMESPACE]",
    .help = R"(A Ceph pool: --pool=NAME=rbd:CEPHPOOL[/NAMESPACE], with the keys
monitors=HOST:PORT;HOST:PORT or conf=FILE, user=USER and keyring=FILE (without them
calls bring both as secrets), dataPool=CEPHPOOL for erasure-coded data,
topology=KEY=VALUE (the nodes that reach it; all).)",
    .keys = kKeys,
    .is_shared = true,
    .check = Check};

}  // namespace

const PoolSyntax& RbdSyntax() { return kSyntax; }

absl::StatusOr<CephAccess> ParseCephAccess(const PoolKeys& keys) {
  CephAccess access;
  for (const auto& [key, member] : kAccessKeys) {
    const auto found = keys.find(std::string(key));
    if (found != keys.end()) access.*member = found->second;
  }
  RETURN_IF_ERROR(CheckAccess(access));
  return access;
}

absl::StatusOr<std::optional<TopologySegment>> ParseTopology(const PoolKeys& keys) {
  const auto found = keys.find(std::string(kTopologyKey));
  if (found == keys.end()) return std::optional<TopologySegment>();
  absl::StatusOr<TopologySegment> segment = ParseTopologySegment(found->second);
  RETURN_IF_ERROR(Annotate(segment.status(), kTopologyKey));
  if (!segment->value.empty()) return std::optional(*std::move(segment));
  return InvalidArgument("{}: key '{}' has no value", kTopologyKey, segment->key);
}

absl::Status CheckCephName(std::string_view name) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  if (!name.empty() && std::ranges::all_of(name, allowed)) return absl::OkStatus();
  return InvalidArgument("'{}' must be a name of A-Z, a-z, 0-9, '.', '_' and '-'", name);
}

}  // namespace holdfast::rbd
