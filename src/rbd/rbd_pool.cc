// SPDX-License-Identifier: Apache-2.0
// What the parts of the rbd pool share, and its questions that change nothing.
#include "rbd/rbd_pool.h"

#include <algorithm>

#include "core/call_deadline.h"
#include "core/checked_json.h"
#include "core/disk_names.h"
#include "core/log.h"
#include "os/file.h"
#include "rbd/ceph_access.h"

namespace holdfast::rbd {
namespace {

using nlohmann::json;

constexpr int kPrivate = 0700;
constexpr int kKnownVersion = 1;
// The name space of volumes' UUIDs is that of the pool's location; this is the root of them all.
constexpr char kRootNamespace[] = "a5d2a2c8-2f9e-4f64-9c8c-5f6f1c6d1a3b";

// Whether it is of that role, and a call has returned it.
bool IsReturned(const Volume& volume, VolumeRole role) {
  return pool::IsUsable(volume.state) && volume.role == role &&
         (role == VolumeRole::kSnapshot || volume.state != VolumeState::kCopying);
}

// What the state directory remembers of a pool of that name; nothing if it knows none.
absl::StatusOr<std::optional<std::string>> ReadKnown(int known_pools_fd, const std::string& name) {
  const auto text = os::ReadFileAt(known_pools_fd, name + ".json");
  if (absl::IsNotFound(text.status())) return std::optional<std::string>();
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(const json known,
                   DecodeChecked(*text, kKnownVersion, fmt::format("memory of pool '{}'", name)));
  const auto identity = known.find("ceph_pool");
  if (identity != known.end() && identity->is_string()) return identity->get<std::string>();
  return FailedPrecondition("pool '{}' was of another kind before; give this one another name",
                            name);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RbdPool>> RbdPool::Open(const PoolConfig& config,
                                                       const pool::Process& process,
                                                       std::shared_ptr<Clusters> clusters) {
  const std::string what = fmt::format("pool '{}'", config.name);
  RETURN_IF_ERROR(Annotate(LoadCephLibrary().status(), what));
  ASSIGN_OR_RETURN(const CephAccess access, ParseCephAccess(config.keys));
  if (!access.user.empty()) RETURN_IF_ERROR(Annotate(KeyOf(access).status(), what));
  const int state = process.state_directory_fd;
  RETURN_IF_ERROR(os::MakeDirectoryAt(state, kKnownPoolsName, kPrivate));
  ASSIGN_OR_RETURN(os::UniqueFd known_pools, os::OpenDirectoryAt(state, kKnownPoolsName));
  ASSIGN_OR_RETURN(auto identity, ReadKnown(known_pools.get(), config.name));
  ASSIGN_OR_RETURN(const std::string id, UuidOfName(kRootNamespace, config.location));
  ASSIGN_OR_RETURN(std::optional<TopologySegment> topology, ParseTopology(config.keys));
  ASSIGN_OR_RETURN(const pool::TrashPolicy trash, pool::ParseTrashPolicy(config.keys));
  pool::PoolInfo info{.id = id,
                      .name = config.name,
                      .kind = config.kind(),
                      .location = config.location,
                      .node = "",
                      .default_filesystem = config.default_filesystem,
                      .topology = std::move(topology)};
  auto common = std::make_shared<Common>(process, trash, std::move(known_pools),
                                         std::move(identity), std::move(clusters));
  return std::unique_ptr<RbdPool>(new RbdPool(std::move(info), access, std::move(common)));
}

absl::StatusOr<pool::Pool*> RbdPool::WithCredentials(const Secrets& secrets) {
  if (!access_.user.empty()) return this;
  ASSIGN_OR_RETURN(const CephUser user, UserIn(secrets));
  CephAccess access = access_;
  access.user = user.name;
  access.key = user.key;
  std::vector<RbdPool*> outdated;
  pool::Pool* found = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto [entry, is_new] = users_.try_emplace(access);
    if (is_new) {
      for (const auto& [other, pool] : users_) {
        if (pool != nullptr && other.user == access.user) outdated.push_back(pool.get());
      }
      entry->second.reset(new RbdPool(info_, access, common_));
    }
    found = entry->second.get();
  }
  for (RbdPool* const pool : outdated) pool->Disconnect();  // the user's key is another one now
  return found;
}

void RbdPool::Disconnect() {
  {
    const MutexLock lock(mutex_);
    ceph_.reset();
  }
  common_->clusters->Forget(access_);
}

absl::Status RbdPool::CheckReady() {
  RETURN_IF_ERROR(LoadCephLibrary().status());
  return access_.user.empty() ? absl::OkStatus() : KeyOf(access_).status();
}

VolumeId RbdPool::IdForName(const std::string& name) const {
  const std::string uuid = *UuidOfName(info_.id, name);  // info_.id is a UUID
  auto identity = KnownIdentity();
  if (!identity) {
    const auto access = PresentAccess();
    if (access.ok() && Reach(*access).ok()) identity = KnownIdentity();
  }
  return VolumeId{info_.name, info_.node, identity ? MarkedUuid(*identity, uuid) : uuid};
}

// Of the same mark as the ids of volumes.
VolumeId RbdPool::IdForSnapshotName(const std::string& name) const {
  VolumeId id = Pool::IdForSnapshotName(name);
  if (const auto identity = KnownIdentity()) id.uuid = MarkedUuid(*identity, id.uuid);
  return id;
}

absl::StatusOr<std::vector<Volume>> RbdPool::List(const std::string& after_uuid,
                                                  std::size_t limit) {
  return ListOf(VolumeRole::kVolume, after_uuid, limit);
}

absl::StatusOr<std::vector<Volume>> RbdPool::ListSnapshots(const std::string& after_uuid,
                                                           std::size_t limit) {
  return ListOf(VolumeRole::kSnapshot, after_uuid, limit);
}

absl::StatusOr<std::vector<Volume>> RbdPool::ListOf(VolumeRole role, const std::string& after_uuid,
                                                    std::size_t limit) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  std::vector<Volume> volumes;
  std::string after = after_uuid;
  while (limit == 0 || volumes.size() < limit) {
    const std::size_t wanted = limit == 0 ? 0 : limit - volumes.size();
    ASSIGN_OR_RETURN(const RecordTable::Page page, RecordTable::List(*ceph, after, wanted));
    for (const pool::VolumeRecord& record : page.records) {
      if (IsReturned(record.volume, role)) volumes.push_back(WithPool(record.volume));
    }
    if (limit == 0 || page.records.size() < wanted) break;
    after = page.records.back().volume.id.uuid;
  }
  return volumes;
}

absl::StatusOr<std::vector<pool::UnfinishedVolume>> RbdPool::ListUnfinished() {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const RecordTable::Page page, RecordTable::List(*ceph, "", 0));
  std::vector<pool::UnfinishedVolume> unfinished;
  for (const pool::VolumeRecord& record : page.records) {
    if (pool::IsUnreturned(record)) {
      unfinished.push_back({WithPool(record.volume), record.copy->copied_to});
    }
  }
  return unfinished;
}

absl::StatusOr<PoolCapacity> RbdPool::GetCapacity(Provisioning provisioning) {
  // Ceph allocates when written: no thick volume can be made.
  if (provisioning == Provisioning::kThick) return PoolCapacity{};
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const auto statistics, Statistics(*ceph));
  if (!statistics) {
    return Unavailable("Ceph cluster {} has no statistics of pool '{}': is a ceph-mgr running?",
                       ceph->identity().cluster, ceph->pool_name());
  }
  const Bytes largest = AlignDown(statistics->available, kVolumeGranularity);
  return PoolCapacity{.available_bytes = largest,
                      .maximum_volume_bytes = largest,
                      .minimum_volume_bytes = kVolumeGranularity};
}

absl::StatusOr<pool::PoolUsage> RbdPool::GetUsage() {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const auto measured, Statistics(*ceph));
  const PoolStatistics statistics = measured.value_or(PoolStatistics{});
  pool::PoolUsage usage{.total = statistics.stored + statistics.available,
                        .free = statistics.available};
  usage.thin_available = AlignDown(statistics.available, kVolumeGranularity);
  ASSIGN_OR_RETURN(const RecordTable::Page page, RecordTable::List(*ceph, "", 0));
  for (const pool::VolumeRecord& record : page.records) {
    const Volume& volume = record.volume;
    if (IsReturned(volume, VolumeRole::kSnapshot)) ++usage.snapshots.shared;
    if (!IsReturned(volume, VolumeRole::kVolume)) continue;
    ++usage.volumes;
    usage.thin_provisioned += volume.capacity_bytes;
  }
  usage.trash = TrashUseOf(page.trashed);
  return usage;
}

absl::StatusOr<RbdPool::Ceph> RbdPool::Connect() const {
  ASSIGN_OR_RETURN(const CephAccess access, PresentAccess());
  if (const Ceph present = PresentConnection(access)) {
    const MutexLock lock(common_->mutex);
    common_->last_access = access;
    return present;
  }
  ASSIGN_OR_RETURN(Ceph ceph, Reach(access));
  if (common_->is_controller) {
    const absl::Status made = MakeTrash(*ceph);
    if (absl::IsUnavailable(made)) return made;
    if (!made.ok()) LogWarning("pool '{}': {}", info_.name, MessageOf(made));
  }
  const MutexLock lock(mutex_);
  ceph_ = ceph;
  ceph_access_ = access;
  return ceph;
}

// A new connection, and that it leads where it should.
absl::StatusOr<RbdPool::Ceph> RbdPool::Reach(const CephAccess& access) const {
  ASSIGN_OR_RETURN(auto cluster, common_->clusters->Get(access));
  ASSIGN_OR_RETURN(Ceph ceph, CephPool::Open(std::move(cluster), info_.location));
  const MutexLock lock(common_->mutex);
  RETURN_IF_ERROR(RequireKnown(ceph->identity()));
  common_->last_access = access;
  return ceph;
}

std::optional<std::string> RbdPool::KnownIdentity() const {
  const MutexLock lock(common_->mutex);
  return common_->identity;
}

absl::StatusOr<Semaphore::Permit> RbdPool::TakeImagePermit() {
  return TakePermit(common_->image_permits, kImagesAtOnce);
}

absl::StatusOr<Semaphore::Permit> RbdPool::TakeSnapshotPermit() {
  return TakePermit(common_->snapshot_permits, kSnapshotsAtOnce);
}

absl::StatusOr<Semaphore::Permit> RbdPool::TakePermit(Semaphore& permits, unsigned count) const {
  Semaphore::Permit permit = permits.Acquire(WithinCallDeadline(kStepTime));
  if (permit != nullptr) return permit;
  return Unavailable("{} other calls are at work on images of pool '{}'; try again", count,
                     info_.name);
}

// Null if there is none of that user's that works.
RbdPool::Ceph RbdPool::PresentConnection(const CephAccess& access) const {
  const MutexLock lock(mutex_);
  const bool works = ceph_ != nullptr && !ceph_->cluster().is_dead() && ceph_access_ == access;
  if (!works) ceph_.reset();
  return ceph_;
}

absl::StatusOr<CephAccess> RbdPool::PresentAccess() const {
  if (!access_.user.empty()) return access_;
  const MutexLock lock(common_->mutex);
  if (common_->last_access) return *common_->last_access;
  return Unavailable(
      "pool '{}' has no user of its own, and since the start no call has brought one: secrets with "
      "userID and userKey",
      info_.name);
}

// Volumes of one pool must never be looked for in another, where they
// would seem to be gone.
absl::Status RbdPool::RequireKnown(const CephPoolIdentity& identity) const {
  const std::string found = identity.ToString();
  if (common_->identity && *common_->identity != found) {
    return FailedPrecondition(
        "pool '{}' is {} now and was {} before: another cluster, or the Ceph pool was made again; "
        "give it another name",
        info_.name, found, *common_->identity);
  }
  if (common_->identity) return absl::OkStatus();
  RETURN_IF_ERROR(os::WriteFileDurably(common_->known_pools.get(), info_.name + ".json",
                                       EncodeChecked(json{{"ceph_pool", found}}, kKnownVersion)));
  common_->identity = found;
  return absl::OkStatus();
}

// NOT_FOUND only of a volume that this very pool can have made: the monitors or the configuration
// of a pool may have been changed, and a controller in Kubernetes remembers nothing.
absl::StatusOr<RecordEntry> RbdPool::Read(const CephPool& ceph, const VolumeId& id) const {
  auto entry = RecordTable::Read(ceph, id.uuid);
  const bool can_be_ours = MarkedUuid(ceph.identity().ToString(), id.uuid) == id.uuid;
  if (!absl::IsNotFound(entry.status()) || can_be_ours) return entry;
  return FailedPrecondition(
      "volume '{}' was made in another Ceph cluster, pool or name space than {}, where pool '{}' "
      "leads now: give the pool the monitors and the place that it had",
      id.ToString(), ceph.identity().ToString(), info_.name);
}

absl::StatusOr<RecordEntry> RbdPool::ReadUsable(const CephPool& ceph, const VolumeId& id) const {
  auto entry = Read(ceph, id);
  if (entry.ok()) RETURN_IF_ERROR(RequireUsable(*entry, id));
  if (absl::IsNotFound(entry.status())) return NotFound("there is no volume '{}'", id.ToString());
  return entry;
}

absl::Status RbdPool::RequireUsable(const RecordEntry& entry, const VolumeId& id) {
  const Volume& volume = entry.record.volume;
  const bool usable = volume.role == VolumeRole::kVolume && pool::IsUsable(volume.state) &&
                      volume.state != VolumeState::kCopying;
  if (usable) return absl::OkStatus();
  return NotFound("there is no volume '{}'", id.ToString());
}

absl::StatusOr<std::optional<PoolStatistics>> RbdPool::Statistics(const CephPool& ceph) {
  const std::string& name = access_.data_pool.empty() ? ceph.pool_name() : access_.data_pool;
  return statistics_.Get([&] { return AskStatistics(ceph.cluster(), name); });
}

absl::Status RbdPool::RequireRoom(const CephPool& ceph, Bytes bytes) {
  ASSIGN_OR_RETURN(const auto statistics, Statistics(ceph));
  // Without statistics the room is unknown, which is not a reason to refuse.
  if (!statistics || bytes <= statistics->available + common_->freed.Recent()) {
    return absl::OkStatus();
  }
  return ResourceExhausted("pool '{}' has no room for {}: {} are available in Ceph pool '{}'",
                           info_.name, FormatBytes(bytes), FormatBytes(statistics->available),
                           info_.location);
}

RbdImageName RbdPool::NameOf(const std::string& image) const {
  return {.pool = PoolNameIn(info_.location),
          .name_space = NamespaceIn(info_.location),
          .image = image};
}

Volume RbdPool::WithPool(Volume volume) const {
  volume.id = WithUuid(volume.id.uuid);
  return volume;
}

VolumeId RbdPool::WithUuid(const std::string& uuid) const {
  return VolumeId{.pool = info_.name, .node = info_.node, .uuid = uuid};
}

}  // namespace holdfast::rbd
