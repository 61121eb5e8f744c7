// SPDX-License-Identifier: Apache-2.0
// Where a volume of a name is, or may be, so that a repeated creation finds what was made and no
// name becomes two volumes.
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/volume_id.h"
#include "proto/link.pb.h"

namespace holdfast::link {

// Volumes of one node at most: what a node names costs the controller some 50 bytes each.
inline constexpr std::size_t kMaxVolumesOfNode = 250'000;
// Volumes in one message (Volumes); with names as long as they may be still below 64 KiB.
inline constexpr int kMaxVolumesInPart = 256;

// A node's pools by name, each with the id of its storage.
using PoolIds = std::map<std::string, std::string>;

// The same with the name spaces of the pools' snapshots (SnapshotNameSpace) in place of the ids.
// INTERNAL if an id is not a UUID.
[[nodiscard]] absl::StatusOr<PoolIds> SnapshotNameSpaces(const PoolIds& pools);

// The groups of which these snapshots are members, by their ids in place of names.
[[nodiscard]] google::protobuf::RepeatedPtrField<v1::Volume> GroupsIn(
    const google::protobuf::RepeatedPtrField<v1::Volume>& snapshots);

// The volumes that one node has named, by pool and UUID.
class NamedVolumes final {
 public:
  NamedVolumes() = default;
  explicit NamedVolumes(const PoolIds& pools);

  // Adds a part of what the node names. INVALID_ARGUMENT for a pool that it has not registered, a
  // name that no CO gives, or too many in one part; RESOURCE_EXHAUSTED for more than
  // kMaxVolumesOfNode in all.
  [[nodiscard]] absl::Status Add(const google::protobuf::RepeatedPtrField<v1::Volume>& part);

 private:
  friend class VolumeNames;
  using Uuid = std::array<unsigned char, 16>;
  struct Key {
    std::uint16_t pool;  // index in pools_
    Uuid uuid;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static_assert(sizeof(Key) == 18);

  [[nodiscard]] bool Put(const std::string& pool, const std::string& name);
  void KeepUnknown(const NamedVolumes& before);
  void Set(const VolumeId& id, std::uint64_t hash, bool exists);
  // Nothing if the pool is not the node's.
  [[nodiscard]] std::optional<Key> KeyOf(const std::string& pool, const std::string& uuid) const;

  std::vector<std::pair<std::string, std::string>> pools_;  // name and id, by name
  absl::btree_map<Key, std::uint64_t> volumes_;             // to the hash of the name
};

// Thread-safe. What a node says of its volumes is replaced by what it says next; a creation that
// was sent and not answered stays known beside that.
class VolumeNames final {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Place {
    std::string node;
    // False: the volume is only in doubt, and CreateVolume never returned it.
    bool returned = false;
    std::string pool;  // of one in doubt, as its class says; empty: any of the node's
  };
  // Where the name is: first a creation in doubt, then the nodes that have such a volume. Without
  // places that were superseded. More than one: nodes contradict each other.
  [[nodiscard]] std::vector<Place> Find(const std::string& name) const;

  // Replaces what the node has by what it named from `since` on. Volumes that were made or deleted
  // since then stay so; those of pools whose storage the node does not know now stay as well, as it
  // cannot name them. Returns those of its ids whose names another volume has as well.
  std::vector<VolumeId> Replace(const std::string& node, NamedVolumes volumes, Time since);
  // The node is gone, and what it named with it. Doubts and superseded volumes stay.
  void Forget(const std::string& node);

  // Nodes that are connected or missing, in order.
  [[nodiscard]] std::vector<std::string> Nodes() const;
  // Up to `limit` volumes of the node after `after` (its empty default: from the start), by pool
  // and UUID.
  [[nodiscard]] std::vector<VolumeId> List(const std::string& node, const VolumeId& after,
                                           std::size_t limit) const;
  // How many the node has named, or was given since.
  [[nodiscard]] std::size_t Count(const std::string& node) const;

  // Before a creation is sent to the node; when it was refused as a whole; when the caller is
  // answered with the volume; when it was deleted.
  void CreationStarts(const std::string& name, const std::string& node, const std::string& pool);
  void CreationRefused(const std::string& name, const std::string& node);
  void Created(const VolumeId& id, const std::string& name);
  void Deleted(const VolumeId& id);
  // How many times in a row the node has left the creation unanswered.
  int CountUnanswered(const std::string& name, const std::string& node);

  // A volume in doubt gives way to another place: if the node has it, it must be deleted there,
  // and until then nothing may be made of that name there.
  struct Superseded {
    std::string node;
    std::string name;
    std::string pool;  // as the class says; empty: any of the node's
    friend auto operator<=>(const Superseded&, const Superseded&) = default;
  };
  void Supersede(const Superseded& volume);
  [[nodiscard]] std::optional<Superseded> FindSuperseded(const std::string& name,
                                                         const std::string& node) const;
  [[nodiscard]] std::vector<Superseded> AllSuperseded() const;
  void SupersededIsGone(const Superseded& volume);

 private:
  struct Doubt {
    std::string node;
    std::string pool;
    int unanswered = 0;
  };
  struct Change {
    Time at;
    VolumeId id;
    std::uint64_t hash = 0;
    bool exists = false;
  };
  struct Node {
    std::uint32_t number = 0;
    NamedVolumes named;
    std::deque<Change> changes;  // the last ones, oldest first
  };
  static void Note(Node& node, const VolumeId& id, std::uint64_t hash, bool exists);
  void Unindex(const Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool Has(std::uint64_t hash, std::uint32_t number) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool IsSupersededAt(const std::string& name, const std::string& node) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, Node> nodes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint32_t, std::string> node_of_number_ ABSL_GUARDED_BY(mutex_);
  std::uint32_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  // Hash of name, node's number.
  absl::btree_set<std::pair<std::uint64_t, std::uint32_t>> index_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Doubt> doubts_ ABSL_GUARDED_BY(mutex_);  // by name
  // Node, name: pool.
  std::map<std::pair<std::string, std::string>, std::string> superseded_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::link
