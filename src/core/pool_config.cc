// SPDX-License-Identifier: Apache-2.0
#include "core/pool_config.h"

#include <algorithm>
#include <vector>

#include "core/unknown_name.h"
#include "core/volume_id.h"

namespace holdfast {
namespace {

constexpr std::string_view kFilesystemKey = "fs";

absl::Status CheckKeys(const PoolSyntax& syntax, const PoolKeys& keys) {
  std::vector<std::string_view> known = {kFilesystemKey};
  std::ranges::transform(syntax.keys, std::back_inserter(known), &PoolKey::name);
  for (const auto& [key, value] : keys) {
    if (std::ranges::find(known, key) == known.end()) return UnknownName("key", key, known);
  }
  return absl::OkStatus();
}

absl::StatusOr<PoolConfig> ConfigOf(std::string_view storage, PoolKeys keys, PoolSyntaxes kinds) {
  const std::size_t colon = storage.find(':');
  const auto kind = std::ranges::find(kinds, storage.substr(0, colon), &PoolSyntax::kind);
  if (kind == kinds.end() || colon == std::string_view::npos) {
    return InvalidArgument("'{}' must be {}", storage, PoolForms(kinds));
  }
  PoolConfig pool;
  pool.syntax = *kind;
  pool.location = std::string(storage.substr(colon + 1));
  RETURN_IF_ERROR(CheckKeys(*pool.syntax, keys));
  const auto filesystem = keys.extract(std::string(kFilesystemKey));
  // Checked against the supported ones at start.
  if (!filesystem.empty()) pool.default_filesystem = filesystem.mapped();
  pool.keys = std::move(keys);
  RETURN_IF_ERROR(pool.syntax->check(pool.location, pool.keys));
  return pool;
}

}  // namespace

bool IsSameStorage(const PoolConfig& one, const PoolConfig& other) {
  if (one.syntax != other.syntax || one.location != other.location) return false;
  const auto value = [](const PoolConfig& pool, std::string_view key) {
    const auto found = pool.keys.find(std::string(key));
    return found == pool.keys.end() ? std::string() : found->second;
  };
  return std::ranges::all_of(one.syntax->keys, [&](const PoolKey& key) {
    return !key.selects_storage || value(one, key.name) == value(other, key.name);
  });
}

std::string PoolForms(PoolSyntaxes kinds, std::string_view before, std::string_view after) {
  std::vector<std::string> forms;
  for (const PoolSyntax* const kind : kinds) {
    forms.push_back(fmt::format("{}{}:{}{}", before, kind->kind, kind->location, after));
  }
  return fmt::format("{}", fmt::join(forms, " or "));
}

absl::StatusOr<PoolConfig> MakePoolConfig(const std::string& name, std::string_view storage,
                                          const PoolKeys& keys, PoolSyntaxes kinds) {
  RETURN_IF_ERROR(ValidatePoolName(name));
  absl::StatusOr<PoolConfig> pool = ConfigOf(storage, keys, kinds);
  RETURN_IF_ERROR(Annotate(pool.status(), fmt::format("pool '{}'", name)));
  pool->name = name;
  return pool;
}

absl::StatusOr<PoolConfig> ParsePool(std::string_view text, PoolSyntaxes kinds) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return InvalidArgument("pool '{}' must be {}", text,
                           PoolForms(kinds, "NAME=", "[,key=value...]"));
  }
  const std::string name(text.substr(0, equals));
  std::string_view rest = text.substr(equals + 1);
  std::string_view storage = rest.substr(0, rest.find(','));
  rest.remove_prefix(storage.size());
  PoolKeys keys;
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
  return MakePoolConfig(name, storage, keys, kinds);
}

}  // namespace holdfast
