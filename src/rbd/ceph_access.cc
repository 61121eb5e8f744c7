// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_access.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/text_file.h"
#include "pool/trash_policy.h"

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

constexpr std::array kKeys{PoolKey{kAccessKeys[0].first, true},
                           PoolKey{kAccessKeys[1].first, true},
                           PoolKey{kAccessKeys[2].first, true},
                           PoolKey{kAccessKeys[3].first, true},
                           PoolKey{kAccessKeys[4].first, true},
                           PoolKey{kTopologyKey},
                           pool::kTrashKeys[0],
                           pool::kTrashKeys[1]};

absl::Status CheckAccess(const CephAccess& ceph) {
  if (!ceph.data_pool.empty()) RETURN_IF_ERROR(Annotate(CheckCephName(ceph.data_pool), "dataPool"));
  if (ceph.user.empty() != ceph.keyring.empty()) {
    return InvalidArgument(
        "{}= is missing: user and keyring go together; without both each call must bring them as "
        "secrets",
        ceph.user.empty() ? "user" : "keyring");
  }
  if (ceph.user.starts_with("client.")) {
    return InvalidArgument("user='{}' must be without 'client.'", ceph.user);
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
  RETURN_IF_ERROR(pool::ParseTrashPolicy(keys).status());
  return ParseCephAccess(keys).status();
}

constexpr PoolSyntax kSyntax{
    .kind = "rbd",
    .location = "CEPHPOOL[/NAMESPACE]",
    .help = R"(A Ceph pool: --pool=NAME=rbd:CEPHPOOL[/NAMESPACE], with the keys
monitors=HOST:PORT;HOST:PORT or conf=FILE, user=USER and keyring=FILE (without them
calls bring both as secrets), dataPool=CEPHPOOL for erasure-coded data,
topology=KEY=VALUE (the nodes that reach it; all),
keepDeleted=24h (how long deleted volumes are kept; 0),
trash=reclaim (purge them early for new volumes; keep).)",
    .keys = kKeys,
    .is_shared = true,
    .check = Check};

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool LooksLikeKey(std::string_view text) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '/' || c == '=';
  };
  return !text.empty() && std::ranges::all_of(text, allowed);
}

constexpr char kUserId[] = "userID";
constexpr char kUserKey[] = "userKey";

absl::Status Missing(const char* key) {
  return InvalidArgument(
      "secrets: {} is missing; the pool has no user of its own, so the class must name the secret "
      "with {} and {} of a Ceph user",
      key, kUserId, kUserKey);
}

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

absl::StatusOr<std::string> FindCephKey(std::string_view text, std::string_view user) {
  if (LooksLikeKey(Trimmed(text))) return std::string(Trimmed(text));
  const std::string section = fmt::format("[client.{}]", user);
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = Trimmed(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), text.find('\n')));
    if (!text.empty()) text.remove_prefix(1);
    if (line.starts_with('[')) inside = line == section;
    const std::size_t equals = line.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    const std::string_view key = Trimmed(line.substr(equals + 1));
    if (Trimmed(line.substr(0, equals)) == "key" && LooksLikeKey(key)) return std::string(key);
  }
  return FailedPrecondition("no key of 'client.{}' is in it", user);
}

absl::StatusOr<std::string> ReadCephKey(const std::string& path, std::string_view user) {
  const auto text = ReadTextFile(path);
  if (!text.ok()) {
    return Annotate(WithCode(text.status(), absl::StatusCode::kFailedPrecondition), "keyring");
  }
  auto key = FindCephKey(*text, user);
  if (!key.ok()) return Annotate(key.status(), fmt::format("keyring '{}'", path));
  return key;
}

absl::StatusOr<std::string> KeyOf(const CephAccess& access) {
  if (!access.key.empty()) return access.key;
  return ReadCephKey(access.keyring, access.user);
}

absl::StatusOr<CephUser> UserIn(const Secrets& secrets) {
  CephUser user{.name = secrets.Reveal(kUserId), .key = ""};
  const std::string key = secrets.Reveal(kUserKey);
  if (user.name.empty()) return Missing(kUserId);
  if (key.empty()) return Missing(kUserKey);
  // It is also a word of a line to the kernel.
  if (!CheckCephName(user.name).ok()) {
    return InvalidArgument("secrets: {} must be of A-Z, a-z, 0-9, '.', '_' and '-'", kUserId);
  }
  auto found = FindCephKey(key, user.name);
  if (!found.ok()) return InvalidArgument("secrets: {} is not a Ceph key", kUserKey);
  user.key = *std::move(found);
  return user;
}

}  // namespace holdfast::rbd
