// SPDX-License-Identifier: Apache-2.0
#include "link/volume_names.h"

#include <uuid/uuid.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "core/log.h"

namespace holdfast::link {
namespace {

constexpr std::size_t kMaxName = 128;  // csi.proto, "Size Limits"
// A node names its volumes in a shorter time.
constexpr std::chrono::minutes kLongestNaming{5};
// Each was asked for by a CO, and its node has not come back since.
constexpr std::size_t kMaxSuperseded = 10'000;

// Another name with the same hash costs a useless question, as a node that claims it does.
std::uint64_t HashOf(const std::string& name) { return std::hash<std::string>{}(name); }

std::string TextOf(const unsigned char* uuid) {
  char text[37];
  uuid_unparse_lower(uuid, text);
  return text;
}

}  // namespace

absl::StatusOr<PoolIds> SnapshotNameSpaces(const PoolIds& pools) {
  PoolIds spaces;
  for (const auto& [name, id] : pools) {
    ASSIGN_OR_RETURN(spaces[name], SnapshotNameSpace(id));
  }
  return spaces;
}

google::protobuf::RepeatedPtrField<v1::Volume> GroupsIn(
    const google::protobuf::RepeatedPtrField<v1::Volume>& snapshots) {
  google::protobuf::RepeatedPtrField<v1::Volume> groups;
  for (const v1::Volume& snapshot : snapshots) {
    const auto group = GroupOfMemberName(snapshot.name());
    if (!group) continue;
    v1::Volume& named = *groups.Add();
    named.set_pool(snapshot.pool());
    named.set_name(*group);
  }
  return groups;
}

NamedVolumes::NamedVolumes(const PoolIds& pools) : pools_(pools.begin(), pools.end()) {}

std::optional<NamedVolumes::Key> NamedVolumes::KeyOf(const std::string& pool,
                                                     const std::string& uuid) const {
  const auto known = std::ranges::lower_bound(
      pools_, pool, {}, [](const auto& p) -> const auto& { return p.first; });
  if (known == pools_.end() || known->first != pool) return std::nullopt;
  Key key{.pool = static_cast<std::uint16_t>(known - pools_.begin()), .uuid = {}};
  if (uuid_parse(uuid.c_str(), key.uuid.data()) != 0) return std::nullopt;
  return key;
}

bool NamedVolumes::Put(const std::string& pool, const std::string& name) {
  const auto known = std::ranges::find(pools_, pool, &std::pair<std::string, std::string>::first);
  if (known == pools_.end()) return false;
  const auto uuid = UuidOfName(known->second, name);
  const auto key = uuid.ok() ? KeyOf(pool, *uuid) : std::nullopt;
  if (key) volumes_.insert_or_assign(*key, HashOf(name));
  return key.has_value();
}

void NamedVolumes::KeepUnknown(const NamedVolumes& before) {
  for (const auto& [key, hash] : before.volumes_) {
    const std::string& pool = before.pools_[key.pool].first;
    const auto here = KeyOf(pool, TextOf(key.uuid.data()));
    if (here && pools_[here->pool].second.empty()) volumes_.emplace(*here, hash);
  }
}

void NamedVolumes::Set(const VolumeId& id, std::uint64_t hash, bool exists) {
  const auto key = KeyOf(id.pool, id.uuid);
  if (!key) return;
  if (exists) {
    volumes_.insert_or_assign(*key, hash);
  } else {
    volumes_.erase(*key);
  }
}

absl::Status NamedVolumes::Add(const google::protobuf::RepeatedPtrField<v1::Volume>& part) {
  if (part.size() > kMaxVolumesInPart) {
    return InvalidArgument("{} volumes in one message, {} are the most", part.size(),
                           kMaxVolumesInPart);
  }
  for (const v1::Volume& volume : part) {
    const bool is_name = !volume.name().empty() && volume.name().size() <= kMaxName;
    if (!is_name || !Put(volume.pool(), volume.name())) {
      return InvalidArgument(
          "a volume or snapshot of a pool that was not registered, or without a proper name");
    }
  }
  if (volumes_.size() <= kMaxVolumesOfNode) return absl::OkStatus();
  return ResourceExhausted("more than {} volumes on one node", kMaxVolumesOfNode);
}

std::vector<VolumeNames::Place> VolumeNames::Find(const std::string& name) const {
  const MutexLock lock(mutex_);
  std::vector<Place> places;
  const auto doubt = doubts_.find(name);
  if (doubt != doubts_.end()) {
    places.push_back({doubt->second.node, /*returned=*/false, doubt->second.pool});
  }
  const std::uint64_t hash = HashOf(name);
  for (auto entry = index_.lower_bound({hash, 0}); entry != index_.end() && entry->first == hash;
       ++entry) {
    const std::string& node = node_of_number_.at(entry->second);
    const bool doubted = doubt != doubts_.end() && doubt->second.node == node;
    if (!doubted && !IsSupersededAt(name, node)) {
      places.push_back({node, /*returned=*/true, ""});
    }
  }
  return places;
}

std::vector<VolumeId> VolumeNames::Replace(const std::string& node, NamedVolumes volumes,
                                           Time since) {
  const MutexLock lock(mutex_);
  const auto [entry, is_new] = nodes_.try_emplace(node);
  Node& known = entry->second;
  if (is_new) {
    known.number = next_number_++;
    node_of_number_.emplace(known.number, node);
  }
  Unindex(known);
  volumes.KeepUnknown(known.named);
  for (const Change& change : known.changes) {
    if (change.at >= since) volumes.Set(change.id, change.hash, change.exists);
  }
  known.named = std::move(volumes);
  std::vector<VolumeId> doubles;
  for (const auto& [key, hash] : known.named.volumes_) {
    const auto other = index_.lower_bound({hash, 0});
    if (other != index_.end() && other->first == hash) {
      doubles.push_back({known.named.pools_[key.pool].first, node, TextOf(key.uuid.data())});
    }
    index_.emplace(hash, known.number);
  }
  return doubles;
}

void VolumeNames::Unindex(const Node& node) {
  for (const auto& [key, hash] : node.named.volumes_) index_.erase({hash, node.number});
}

void VolumeNames::Forget(const std::string& node) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  Unindex(known->second);
  node_of_number_.erase(known->second.number);
  nodes_.erase(known);
}

std::vector<std::string> VolumeNames::Nodes() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> nodes;
  for (const auto& [node, known] : nodes_) nodes.push_back(node);
  return nodes;
}

std::vector<VolumeId> VolumeNames::List(const std::string& node, const VolumeId& after,
                                        std::size_t limit) const {
  const MutexLock lock(mutex_);
  std::vector<VolumeId> ids;
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return ids;
  const NamedVolumes& named = known->second.named;
  auto entry = named.volumes_.begin();
  if (const auto key = named.KeyOf(after.pool, after.uuid))
    entry = named.volumes_.upper_bound(*key);
  for (; entry != named.volumes_.end() && ids.size() < limit; ++entry) {
    ids.push_back({named.pools_[entry->first.pool].first, node, TextOf(entry->first.uuid.data())});
  }
  return ids;
}

std::size_t VolumeNames::Count(const std::string& node) const {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(node);
  return known == nodes_.end() ? 0 : known->second.named.volumes_.size();
}

bool VolumeNames::Has(std::uint64_t hash, std::uint32_t number) const {
  return index_.contains({hash, number});
}

void VolumeNames::CreationStarts(const std::string& name, const std::string& node,
                                 const std::string& pool) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(node);
  const bool has_it = known != nodes_.end() && Has(HashOf(name), known->second.number);
  const auto doubt = doubts_.find(name);
  // What the node has may have been returned: a question that is not answered changes nothing.
  if (has_it && (doubt == doubts_.end() || doubt->second.node != node)) return;
  if (doubt == doubts_.end() || doubt->second.node != node) {
    doubts_[name] = Doubt{.node = node, .pool = pool, .unanswered = 0};
  }
}

void VolumeNames::CreationRefused(const std::string& name, const std::string& node) {
  const MutexLock lock(mutex_);
  const auto doubt = doubts_.find(name);
  if (doubt != doubts_.end() && doubt->second.node == node) doubts_.erase(doubt);
}

int VolumeNames::CountUnanswered(const std::string& name, const std::string& node) {
  const MutexLock lock(mutex_);
  const auto doubt = doubts_.find(name);
  return doubt != doubts_.end() && doubt->second.node == node ? ++doubt->second.unanswered : 0;
}

void VolumeNames::Created(const VolumeId& id, const std::string& name) {
  const MutexLock lock(mutex_);
  const auto doubt = doubts_.find(name);
  if (doubt != doubts_.end() && doubt->second.node == id.node) doubts_.erase(doubt);
  const auto known = nodes_.find(id.node);
  if (known == nodes_.end()) return;
  const auto key = known->second.named.KeyOf(id.pool, id.uuid);
  if (!key) return;
  known->second.named.volumes_.insert_or_assign(*key, HashOf(name));
  index_.emplace(HashOf(name), known->second.number);
  Note(known->second, id, HashOf(name), /*exists=*/true);
}

void VolumeNames::Deleted(const VolumeId& id) {
  const MutexLock lock(mutex_);
  const auto known = nodes_.find(id.node);
  if (known == nodes_.end()) return;
  const auto key = known->second.named.KeyOf(id.pool, id.uuid);
  const auto volume =
      key ? known->second.named.volumes_.find(*key) : known->second.named.volumes_.end();
  Note(known->second, id, 0, /*exists=*/false);
  if (volume == known->second.named.volumes_.end()) return;
  index_.erase({volume->second, known->second.number});
  known->second.named.volumes_.erase(volume);
}

void VolumeNames::Note(Node& node, const VolumeId& id, std::uint64_t hash, bool exists) {
  const Time now = std::chrono::steady_clock::now();
  while (!node.changes.empty() && now - node.changes.front().at > kLongestNaming) {
    node.changes.pop_front();
  }
  node.changes.push_back({.at = now, .id = id, .hash = hash, .exists = exists});
}

void VolumeNames::Supersede(const Superseded& volume) {
  const MutexLock lock(mutex_);
  const auto doubt = doubts_.find(volume.name);
  if (doubt != doubts_.end() && doubt->second.node == volume.node) doubts_.erase(doubt);
  if (superseded_.size() >= kMaxSuperseded) {
    const auto& [node, name] = superseded_.begin()->first;
    LogWarning("a volume named '{}' that was given up may be left on node '{}'", name, node);
    superseded_.erase(superseded_.begin());
  }
  superseded_.insert_or_assign({volume.node, volume.name}, volume.pool);
}

bool VolumeNames::IsSupersededAt(const std::string& name, const std::string& node) const {
  return superseded_.contains({node, name});
}

std::optional<VolumeNames::Superseded> VolumeNames::FindSuperseded(const std::string& name,
                                                                   const std::string& node) const {
  const MutexLock lock(mutex_);
  const auto found = superseded_.find({node, name});
  if (found == superseded_.end()) return std::nullopt;
  return Superseded{.node = node, .name = name, .pool = found->second};
}

std::vector<VolumeNames::Superseded> VolumeNames::AllSuperseded() const {
  const MutexLock lock(mutex_);
  std::vector<Superseded> all;
  for (const auto& [where, pool] : superseded_) all.push_back({where.first, where.second, pool});
  return all;
}

void VolumeNames::SupersededIsGone(const Superseded& volume) {
  const MutexLock lock(mutex_);
  superseded_.erase({volume.node, volume.name});
}

}  // namespace holdfast::link
