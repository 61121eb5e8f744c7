// SPDX-License-Identifier: Apache-2.0
#include "pool/pools.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace holdfast::pool {
namespace {

// So few are asked for at once that a slow disk is not taken for one that hangs.
constexpr std::size_t kConditionsAtOnce = 64;

// Those of volumes of one pool.
std::vector<VolumeCondition> ConditionsIn(const Questions& questions, Pool& pool,
                                          std::span<const Volume> volumes) {
  // What is reached over a network keeps the call's deadline by itself.
  if (pool.info().node.empty()) return pool.Conditions(volumes);
  using Conditions = absl::StatusOr<std::vector<VolumeCondition>>;
  std::vector<VolumeCondition> all;
  while (!volumes.empty()) {
    const auto few = volumes.first(std::min(volumes.size(), kConditionsAtOnce));
    volumes = volumes.subspan(few.size());
    Conditions some = questions.Put(
        pool, [asked = std::vector<Volume>(few.begin(), few.end())](Pool& one) -> Conditions {
          return one.Conditions(asked);
        });
    if (!some.ok()) some.emplace(few.size(), VolumeCondition{true, MessageOf(some.status())});
    std::ranges::move(*some, std::back_inserter(all));
  }
  return all;
}

}  // namespace

absl::StatusOr<Pool*> AccessPool(Pool& pool, const Secrets& secrets, Credentials credentials) {
  if (secrets.empty() && credentials == Credentials::kOptional) return &pool;
  return pool.WithCredentials(secrets);
}

absl::Status Pools::Add(std::unique_ptr<Pool> pool) {
  const std::string name = pool->info().name;
  Pool* const added = pool.get();
  if (!pools_.try_emplace(name, std::move(pool)).second) {
    return InvalidArgument("pool '{}' is configured twice", name);
  }
  if (default_ == nullptr) default_ = added;
  return absl::OkStatus();
}

absl::StatusOr<Pool*> Pools::Find(const std::string& name) const {
  if (name.empty() && default_ != nullptr) return default_;
  const auto found = pools_.find(name);
  if (found != pools_.end()) return found->second.get();
  std::vector<std::string> names;
  for (const auto& [known, pool] : pools_) names.push_back(known);
  return InvalidArgument("there is no pool '{}' (there are: {})", name, fmt::join(names, ", "));
}

absl::StatusOr<Pools::Located> Pools::Locate(const std::string& volume_id) const {
  std::optional<VolumeId> id = VolumeId::Parse(volume_id);
  if (!id) return NotFound("there is no volume '{}'", volume_id);
  const auto found = pools_.find(id->pool);
  if (found == pools_.end()) {
    return FailedPrecondition("volume '{}' belongs to pool '{}', which is not configured here",
                              volume_id, id->pool);
  }
  Pool* const pool = found->second.get();
  if (pool->info().node.empty() != id->node.empty()) {
    return NotFound("there is no volume '{}': pool '{}' never made such an id", volume_id,
                    id->pool);
  }
  if (pool->info().node != id->node) {
    return FailedPrecondition("volume '{}' is on node '{}', this is node '{}'", volume_id, id->node,
                              pool->info().node);
  }
  return Located{.id = *std::move(id), .pool = pool};
}

absl::StatusOr<Pools::Located> Pools::LocateAs(const std::string& volume_id, const Secrets& secrets,
                                               Credentials credentials) const {
  ASSIGN_OR_RETURN(Located located, Locate(volume_id));
  ASSIGN_OR_RETURN(located.pool, AccessPool(*located.pool, secrets, credentials));
  return located;
}

absl::StatusOr<std::vector<Volume>> Pools::List(const std::string& after, std::size_t limit) const {
  return ListWith(&Pool::List, after, limit);
}

absl::StatusOr<std::vector<Volume>> Pools::ListSnapshots(const std::string& after,
                                                         std::size_t limit) const {
  return ListWith(&Pool::ListSnapshots, after, limit);
}

absl::StatusOr<std::vector<Volume>> Pools::ListWith(ListOfPool list, const std::string& after,
                                                    std::size_t limit) const {
  const VolumeId last = VolumeId::Parse(after).value_or(VolumeId{});
  std::vector<Volume> volumes;
  for (auto entry = pools_.lower_bound(last.pool); entry != pools_.end(); ++entry) {
    if (limit != 0 && volumes.size() == limit) break;
    const std::string start = entry->first == last.pool ? last.uuid : "";
    ASSIGN_OR_RETURN(std::vector<Volume> part,
                     ((*entry->second).*list)(start, limit == 0 ? 0 : limit - volumes.size()));
    std::move(part.begin(), part.end(), std::back_inserter(volumes));
  }
  return volumes;
}

absl::StatusOr<std::vector<VolumeCondition>> Pools::Conditions(
    std::span<const Volume> volumes) const {
  std::vector<VolumeCondition> conditions;
  for (auto first = volumes.begin(); first != volumes.end();) {
    const std::string& name = first->id.pool;
    const auto last = std::find_if(first, volumes.end(),
                                   [&](const Volume& volume) { return volume.id.pool != name; });
    ASSIGN_OR_RETURN(Pool* const pool, Find(name));
    std::ranges::move(ConditionsIn(questions_, *pool, {first, last}),
                      std::back_inserter(conditions));
    first = last;
  }
  return conditions;
}

std::vector<Pool*> Pools::all() const {
  std::vector<Pool*> pools;
  for (const auto& [name, pool] : pools_) pools.push_back(pool.get());
  return pools;
}

}  // namespace holdfast::pool
