// SPDX-License-Identifier: Apache-2.0
// Members of group snapshots (docs/adr/0030).
//
// A snapshot of an image is one round of the monitors, about a second, so what can be is cut before
// any filesystem is frozen: volumes that no client has open to write. That they were not written to
// afterwards, when all of the group was cut, is found in the image itself. So their snapshots
// are what they held at every moment between, also at the group's.
//
// The filesystem of a volume that a node has to write is frozen by that node. The record and the
// image's watches say which one it is, and say the same when all of the group was cut: meanwhile no
// other client could write, because a node that has the volume as a device is fenced before it goes
// to another one, and a client's address is never used again after that.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "os/device_use.h"
#include "pool/group_member.h"
#include "rbd/image_changes.h"
#include "rbd/rbd_volumes.h"

namespace holdfast::rbd {
namespace {

// As Writers::device.
std::string DeviceOf(const std::string& image, const std::string& client_address) {
  return fmt::format("{}@{}", image, client_address);
}

bool Writes(const DeviceClaim& holder) { return !holder.read_only; }

}  // namespace

// Readers write nothing, and have no watch. Neither the nodes' list nor the watches are trusted
// further than this: a client that comes later shows in what it writes.
absl::StatusOr<bool> RbdPool::Images::MayBeWritten(const pool::VolumeRecord& source) {
  ASSIGN_OR_RETURN(const RecordEntry* const entry, EntryOf(source));
  if (std::ranges::any_of(entry->nodes.holders, Writes)) return true;
  ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph_, source.image_name));
  return facts && !facts->watchers.empty();
}

// As it is now: nothing if others may write, too, or the node has not said yet which client it is.
absl::StatusOr<std::optional<DeviceClaim>> RbdPool::Images::FindOnlyWriter(
    const pool::VolumeRecord& source) {
  ASSIGN_OR_RETURN(const RecordEntry entry, RecordTable::Read(ceph_, source.volume.id.uuid));
  const std::vector<DeviceClaim>& holders = entry.nodes.holders;
  const auto writer = std::ranges::find_if(holders, Writes);
  if (std::ranges::count_if(holders, Writes) != 1 || writer->client_address.empty() ||
      entry.record.image_name != source.image_name) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const auto facts, InspectImage(ceph_, source.image_name));
  if (!facts) return std::nullopt;
  const bool is_alone = std::ranges::all_of(
      facts->watchers, [&](const std::string& client) { return client == writer->client_address; });
  return is_alone ? std::optional(*writer) : std::nullopt;
}

// Null if this node does not have the volume mounted.
absl::StatusOr<std::unique_ptr<pool::Quiet>> RbdPool::Images::Quiesce(
    const pool::VolumeRecord& source, bool freeze) {
  const std::string& uuid = source.volume.id.uuid;
  ASSIGN_OR_RETURN(const auto device, pool_.FindDevice(uuid));
  if (!device) return nullptr;
  return pool_.Quiesce(uuid, device->block, freeze, cut_);
}

absl::StatusOr<std::unique_ptr<pool::Quiet>> RbdPool::Quiesce(const std::string& uuid,
                                                              const os::BlockDevice& device,
                                                              bool freeze,
                                                              const CutOptions& cut) const {
  if (!common_->quiesce) return nullptr;
  return common_->quiesce(WithUuid(uuid), device,
                          {.freeze = freeze, .longest_freeze = cut.longest_freeze});
}

absl::Status RbdPool::Images::PrepareCut(const pool::VolumeRecord& source,
                                         const pool::VolumeRecord& record) {
  ASSIGN_OR_RETURN(const bool in_use, MayBeWritten(source));
  if (in_use) return Quiesce(source, /*freeze=*/false).status();
  ASSIGN_OR_RETURN(cut_id_, Cut(source, *ParseSnapshotName(record.image_name)));
  cut_early_ = true;
  return absl::OkStatus();
}

absl::StatusOr<pool::VolumeBackend::Held> RbdPool::Images::HoldWriters(
    const pool::VolumeRecord& source) {
  Held held;
  if (cut_early_) return held;
  held.in_use = true;
  ASSIGN_OR_RETURN(held.quiet, Quiesce(source, /*freeze=*/true));
  if (held.quiet != nullptr) return held;
  ASSIGN_OR_RETURN(writer_, FindOnlyWriter(source));
  if (!writer_) return held;
  held.node = writer_->node;
  held.device = DeviceOf(source.image_name, writer_->client_address);
  return held;
}

absl::Status RbdPool::Images::CutHeld(const pool::VolumeRecord& source,
                                      const pool::VolumeRecord& record, const Held&) {
  if (cut_early_) return absl::OkStatus();
  ASSIGN_OR_RETURN(cut_id_, Cut(source, *ParseSnapshotName(record.image_name)));
  return absl::OkStatus();
}

absl::StatusOr<std::string> RbdPool::Images::FinishCut(const pool::VolumeRecord& source,
                                                       const pool::VolumeRecord& record) {
  if (writer_) {
    ASSIGN_OR_RETURN(const auto writer, FindOnlyWriter(source));
    if (writer == writer_) return cut_id_;
    return Aborted(
        "volume {} was given to another node or client than '{}' while the group snapshot was cut; "
        "try again",
        source.volume.id.uuid, writer_->node);
  }
  if (!cut_early_) return cut_id_;
  ASSIGN_OR_RETURN(const bool changed,
                   IsChangedSince(ceph_, *ParseSnapshotName(record.image_name)));
  if (!changed) return cut_id_;
  return Aborted(
      "volume {} was not in use when the group snapshot was begun, and was written to before all "
      "of its volumes were cut; try again",
      source.volume.id.uuid);
}

// A member with the connection and the call that it is cut in.
class RbdPool::Member final : public pool::MemberCut {
 public:
  Member(RbdPool& pool, Ceph ceph, const CutOptions& cut)
      : pool_(pool),
        ceph_(std::move(ceph)),
        call_(pool, *ceph_, AccessMode::kSingleNodeWriter, cut) {}

  absl::Status Begin(const VolumeSpec& spec, const VolumeId& id) {
    ASSIGN_OR_RETURN(auto begun, call_.volumes.BeginMember(spec, id));
    uuid_ = id.uuid;
    image_name_ = begun.record.image_name;
    steps_ = std::make_unique<pool::GroupMember>(call_.volumes, call_.images, std::move(begun));
    return absl::OkStatus();
  }

  absl::Status Prepare() override {
    ASSIGN_OR_RETURN(const Semaphore::Permit permit, pool_.TakeImagePermit());
    return steps_->Prepare();
  }
  absl::StatusOr<pool::Writers> Hold() override { return steps_->Hold(); }
  absl::Status Cut() override { return steps_->Cut(); }
  absl::Status Release() override { return steps_->Release(); }
  absl::Status Seal() override {
    ASSIGN_OR_RETURN(const Semaphore::Permit permit, pool_.TakeImagePermit());
    RETURN_IF_ERROR(steps_->Seal());
    const MutexLock lock(pool_.common_->mutex);
    pool_.common_->sealed.insert_or_assign(uuid_, image_name_);
    return absl::OkStatus();
  }
  absl::Status Undo(const absl::Status& cause) override { return steps_->Undo(cause); }

 private:
  RbdPool& pool_;
  const Ceph ceph_;
  Call call_;
  std::string uuid_;
  std::string image_name_;
  std::unique_ptr<pool::GroupMember> steps_;
};

absl::StatusOr<std::unique_ptr<pool::MemberCut>> RbdPool::BeginCut(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(Ceph ceph, Connect());
  auto member = std::make_unique<Member>(*this, std::move(ceph), spec.cut);
  RETURN_IF_ERROR(member->Begin(spec, IdForSpec(spec)));
  return member;
}

// The volume's lock, which the caller has, keeps its device from being unmapped between the steps.
class RbdPool::HeldDevice final : public pool::MemberCut {
 public:
  HeldDevice(const RbdPool& pool, std::string uuid, os::BlockDevice device, const CutOptions& cut)
      : pool_(pool), uuid_(std::move(uuid)), device_(std::move(device)), cut_(cut) {}

  absl::Status Prepare() override {
    return pool_.Quiesce(uuid_, device_, /*freeze=*/false, cut_).status();
  }
  absl::StatusOr<pool::Writers> Hold() override {
    ASSIGN_OR_RETURN(quiet_, pool_.Quiesce(uuid_, device_, /*freeze=*/true, cut_));
    return pool::Writers{.held = quiet_ != nullptr};
  }
  absl::Status Cut() override { return absl::OkStatus(); }
  absl::Status Release() override {
    if (quiet_ == nullptr) return absl::OkStatus();
    const absl::Status ended = quiet_->End();
    quiet_.reset();
    return ended;
  }
  absl::Status Seal() override { return absl::OkStatus(); }
  absl::Status Undo(const absl::Status& cause) override {
    quiet_.reset();
    return cause;
  }

 private:
  const RbdPool& pool_;
  const std::string uuid_;
  const os::BlockDevice device_;
  const CutOptions cut_;
  std::unique_ptr<pool::Quiet> quiet_;
};

absl::StatusOr<std::unique_ptr<pool::MemberCut>> RbdPool::BeginHold(const VolumeId& id,
                                                                    const std::string& device,
                                                                    const CutOptions& cut) {
  ASSIGN_OR_RETURN(const auto found, FindDevice(id.uuid));
  if (!found || DeviceOf(found->image, found->client_address) != device) return nullptr;
  return std::make_unique<HeldDevice>(*this, id.uuid, found->block, cut);
}

// What this process has sealed it does not mistake for a member that another process has made in
// its place meanwhile, and has perhaps not sealed everywhere.
absl::StatusOr<bool> RbdPool::EndMember(const VolumeId& id, const std::string& group, bool keep) {
  ASSIGN_OR_RETURN(const Semaphore::Permit permit, TakeImagePermit());
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  Call call(*this, *ceph);
  {
    const MutexLock lock(common_->mutex);
    const auto sealed = common_->sealed.find(id.uuid);
    if (sealed != common_->sealed.end() && keep) call.records.Expect(sealed->second);
  }
  auto ended = call.volumes.EndMember(id, group, keep);
  if (!ended.ok() && !absl::IsAborted(ended.status())) return ended;
  const MutexLock lock(common_->mutex);
  common_->sealed.erase(id.uuid);
  return ended;
}

// The controller asks itself: nodes have no members of pools that every node reaches.
absl::StatusOr<std::vector<Volume>> RbdPool::MembersOf(const std::string& group) {
  if (!common_->is_controller) return std::vector<Volume>();
  ASSIGN_OR_RETURN(std::vector<Volume> members, ListSnapshots("", 0));
  std::erase_if(members, [&](const Volume& snapshot) {
    return !snapshot.group || snapshot.group->id != group;
  });
  return members;
}

absl::StatusOr<Volume> RbdPool::FindUndecided(const VolumeId& id) {
  ASSIGN_OR_RETURN(const Ceph ceph, Connect());
  ASSIGN_OR_RETURN(const RecordEntry entry, RecordTable::Read(*ceph, id.uuid));
  const Volume& volume = entry.record.volume;
  if (volume.state == VolumeState::kCut && volume.group) return WithPool(volume);
  return NotFound("there is no undecided snapshot '{}'", ToSnapshotId(id));
}

}  // namespace holdfast::rbd
