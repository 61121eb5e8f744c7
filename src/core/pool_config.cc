// SPDX-License-Identifier: Apache-2.0
#include "core/pool_config.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/unknown_name.h"
#include "core/volume_id.h"

namespace holdfast {
namespace {

absl::StatusOr<double> ParseNumber(std::string_view key, std::string_view text, double least,
                                   double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
      !(value <= most)) {
    return InvalidArgument("{}='{}' must be a number from {} to {}", key, text, least, most);
  }
  return value;
}

// "90%" as 0.9.
absl::StatusOr<double> ParsePercent(std::string_view key, std::string_view text) {
  if (!text.ends_with('%')) return InvalidArgument("{}='{}' must be a percentage", key, text);
  text.remove_suffix(1);
  ASSIGN_OR_RETURN(const double percent, ParseNumber(key, text, 0, 100));
  return percent / 100;
}

absl::Status SetReserve(SpacePolicy& space, std::string_view text) {
  space.reserve_bytes = 0;
  space.reserve_fraction = 0;
  if (text.ends_with('%')) {
    ASSIGN_OR_RETURN(space.reserve_fraction, ParsePercent("reserve", text));
  } else {
    ASSIGN_OR_RETURN(space.reserve_bytes, ParseBytes(text));
  }
  return absl::OkStatus();
}

absl::Status SetFileKey(PoolConfig& pool, const std::string& key, const std::string& value) {
  if (key == "reserve") return SetReserve(pool.space, value);
  if (key == "overcommit") {
    ASSIGN_OR_RETURN(pool.space.overcommit, ParseNumber(key, value, 1, 1000));
    return absl::OkStatus();
  }
  if (key == "watermark") {
    ASSIGN_OR_RETURN(pool.space.watermark, ParsePercent(key, value));
    return absl::OkStatus();
  }
  constexpr std::string_view kKeys[] = {"fs", "reserve", "overcommit", "watermark"};
  return UnknownName("key", key, kKeys);
}

absl::Status SetTopology(PoolConfig& pool, const std::string& text) {
  ASSIGN_OR_RETURN(const TopologySegment segment, ParseTopologySegment(text));
  if (segment.value.empty()) return InvalidArgument("key '{}' has no value", segment.key);
  pool.topology = segment;
  return absl::OkStatus();
}

absl::Status SetRbdKey(PoolConfig& pool, const std::string& key, const std::string& value) {
  if (key == "topology") return Annotate(SetTopology(pool, value), key);
  static const std::map<std::string_view, std::string CephAccess::*> kSettings{
      {"monitors", &CephAccess::monitors},  {"conf", &CephAccess::conf},
      {"user", &CephAccess::user},          {"keyring", &CephAccess::keyring},
      {"dataPool", &CephAccess::data_pool},
  };
  const auto setting = kSettings.find(key);
  if (setting == kSettings.end()) {
    constexpr std::string_view kKeys[] = {"fs",      "monitors", "conf",    "user",
                                          "keyring", "dataPool", "topology"};
    return UnknownName("key", key, kKeys);
  }
  pool.ceph.*setting->second = value;
  return absl::OkStatus();
}

absl::Status SetKey(PoolConfig& pool, const std::string& key, const std::string& value) {
  if (key == "fs") {
    pool.default_filesystem = value;  // checked against the supported ones at start
    return absl::OkStatus();
  }
  return pool.kind == "rbd" ? SetRbdKey(pool, key, value) : SetFileKey(pool, key, value);
}

absl::Status CheckRbd(const PoolConfig& pool) {
  const CephAccess& ceph = pool.ceph;
  const std::size_t slash = pool.location.find('/');
  RETURN_IF_ERROR(CheckCephName(pool.location.substr(0, slash)));
  if (slash != std::string::npos) RETURN_IF_ERROR(CheckCephName(pool.location.substr(slash + 1)));
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

}  // namespace

absl::Status CheckCephName(std::string_view name) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  if (!name.empty() && std::ranges::all_of(name, allowed)) return absl::OkStatus();
  return InvalidArgument("'{}' must be a name of A-Z, a-z, 0-9, '.', '_' and '-'", name);
}

absl::StatusOr<PoolConfig> MakePoolConfig(const std::string& name, std::string_view storage,
                                          const std::map<std::string, std::string>& keys) {
  PoolConfig pool{.name = name, .kind = "", .location = "", .space = {}, .ceph = {}};
  RETURN_IF_ERROR(ValidatePoolName(name));
  const std::size_t colon = storage.find(':');
  pool.kind = std::string(storage.substr(0, colon));
  if ((pool.kind != "file" && pool.kind != "rbd") || colon == std::string_view::npos) {
    return InvalidArgument("pool '{}': '{}' must be file:DIRECTORY or rbd:CEPHPOOL[/NAMESPACE]",
                           name, storage);
  }
  pool.location = std::string(storage.substr(colon + 1));
  if (pool.kind == "file" && !pool.location.starts_with('/')) {
    return InvalidArgument("pool '{}': directory '{}' must be an absolute path", name,
                           pool.location);
  }
  for (const auto& [key, value] : keys) {
    RETURN_IF_ERROR(Annotate(SetKey(pool, key, value), fmt::format("pool '{}'", name)));
  }
  if (pool.kind == "rbd") {
    RETURN_IF_ERROR(Annotate(CheckRbd(pool), fmt::format("pool '{}'", name)));
  }
  return pool;
}

absl::StatusOr<PoolConfig> ParsePool(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return InvalidArgument(
        "pool '{}' must be NAME=file:DIRECTORY[,key=value...] or "
        "NAME=rbd:CEPHPOOL[/NAMESPACE][,key=value...]",
        text);
  }
  const std::string name(text.substr(0, equals));
  std::string_view rest = text.substr(equals + 1);
  std::string_view storage = rest.substr(0, rest.find(','));
  rest.remove_prefix(storage.size());
  std::map<std::string, std::string> keys;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the comma
    const std::string_view pair = rest.substr(0, rest.find(','));
    rest.remove_prefix(pair.size());
    const std::size_t middle = pair.find('=');
    if (middle == std::string_view::npos) {
      return InvalidArgument("pool '{}': '{}' must be key=value", name, pair);
    }
    const std::string key(pair.substr(0, middle));
    if (!keys.emplace(key, pair.substr(middle + 1)).second) {
      return InvalidArgument("pool '{}': key '{}' is given twice", name, key);
    }
  }
  return MakePoolConfig(name, storage, keys);
}

}  // namespace holdfast
