// SPDX-License-Identifier: Apache-2.0
// A pool: storage that volumes are made of. One interface for every kind of backend.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/content.h"
#include "core/leftover.h"
#include "core/secrets.h"
#include "core/topology_segment.h"
#include "core/volume.h"
#include "os/block_device.h"
#include "pool/trash_entry.h"

namespace holdfast::pool {

struct RangePage;  // pool/changed_ranges.h

struct PoolInfo {
  // Of the storage, permanently: another one means other volumes. Empty: not known yet.
  std::string id;
  std::string name;
  std::string kind;                // PoolSyntax::kind
  std::string location;            // as the kind writes it, for people
  std::string node;                // that holds the bytes; empty: nodes reach them over a network
  std::string default_filesystem;  // when a request names none
  // Without `node`: the segment of the nodes that reach the bytes; none: every node does.
  std::optional<TopologySegment> topology = std::nullopt;
  std::uint32_t sector_size = 0;  // logical sector of new volumes' devices; 0: not known
};

// The snapshots of a pool, by whose their blocks are.
struct SnapshotCounts {
  std::size_t copying = 0;   // not complete yet
  std::size_t shared = 0;    // shared with volumes or other snapshots, and left so
  std::size_t settling = 0;  // the same of thick ones, which get their own in the background
  std::size_t own = 0;
};

// What volumes and snapshots share, as far as the pool has counted it lately.
struct BlockSharing {
  Bytes snapshots_shared = 0;  // what snapshots occupy, with others ...
  Bytes snapshots_own = 0;     // ... and for themselves
  Bytes unshared = 0;          // what thick copies were given for themselves since the start ...
  Bytes to_unshare = 0;        // ... and what they still share
};

// The state of a pool for people and metrics.
struct PoolUsage {
  Bytes total = 0;              // size of the pool's storage
  Bytes free = 0;               // unused there now
  Bytes reserve = 0;            // kept for the host
  Bytes thick_provisioned = 0;  // sum of thick capacities, and what thick snapshots may need
  Bytes thin_provisioned = 0;   // the same of thin ones
  Bytes thick_available = 0;    // largest thick volume that fits now
  Bytes thin_available = 0;     // largest thin volume that fits now
  std::size_t volumes = 0;
  std::size_t without_direct_io = 0;  // volumes in use that have lost it (docs/snapshots.md)
  SnapshotCounts snapshots{};
  // What thin volumes may still write that has no storage yet, and snapshots share. This and the
  // next: nothing where only the storage knows.
  std::optional<Bytes> thin_unallocated{};
  std::optional<BlockSharing> blocks{};
  TrashUse trash{};
};

// What the bytes of a snapshot take.
struct SnapshotUse {
  Bytes occupied = 0;   // with what it shares
  Bytes shared = 0;     // of these, with other volumes and snapshots
  Bytes copied_to = 0;  // how far it has come; its capacity when it is complete
};

// The writers of a volume that is being cut, when all were held back that can be.
struct Writers {
  bool held = true;  // all of them, or there are none
  // Of those that are not: the only node that may write to the volume, and the device through which
  // it does, as Pool::BeginHold takes it. Empty: it is not known, or there are others.
  std::string node = "";
  std::string device = "";
};

// A snapshot that is being cut at one instant with the others of its group (docs/adr/0030). The
// steps are taken in this order, each for all members before the next one; after an error only Undo
// is left. The caller holds the locks of volume and snapshot. When it ends without Seal or Undo,
// its writers go on, and Repair removes what is left.
class MemberCut {
 public:
  virtual ~MemberCut() = default;
  // What can be done before the writers are held back, so that the next steps are short: writes out
  // what was written so far, and cuts what nothing writes to, as Seal checks.
  [[nodiscard]] virtual absl::Status Prepare() = 0;
  // Holds back the writers. Some cannot be: of a raw block device, of a filesystem that is not
  // frozen (btrfs), and of another node.
  [[nodiscard]] virtual absl::StatusOr<Writers> Hold() = 0;
  [[nodiscard]] virtual absl::Status Cut() = 0;
  // Lets the writers go on. ABORTED if they went on before: what was cut is void.
  [[nodiscard]] virtual absl::Status Release() = 0;
  // Makes the cut durable. The snapshot is undecided from then on (Pool::EndMember), also after a
  // kill. ABORTED if the volume was used although nothing seemed to use it, or not only by the node
  // that Hold named: what was cut is void.
  [[nodiscard]] virtual absl::Status Seal() = 0;
  // Removes it because of the `cause`, and returns that; UNAVAILABLE if something is left.
  [[nodiscard]] virtual absl::Status Undo(const absl::Status& cause) = 0;
};

// A volume that Create has begun as a copy and not returned yet.
struct UnfinishedVolume {
  Volume volume;
  Bytes copied_to = 0;
};

// Where the bytes of a volume go that come from another pool. One thread at a time.
class ImageWriter {
 public:
  virtual ~ImageWriter() = default;
  // Stands for this very image: a volume that is made again under the same name has another one.
  [[nodiscard]] virtual const std::string& arrival() const = 0;
  // Everything before it was written earlier, durably.
  [[nodiscard]] virtual Bytes kept() const = 0;
  // RESOURCE_EXHAUSTED without room.
  [[nodiscard]] virtual absl::Status Write(Bytes offset, std::string_view bytes) = 0;
  [[nodiscard]] virtual absl::Status Sync() = 0;
};

// Thread-safe. For the calls that take a volume, the caller holds that volume's lock (KeyLock), so
// that only one runs per volume. Calls inspect the actual state and move it towards the desired
// one: repeating one is always safe. Errors common to all of them:
//   NOT_FOUND            the pool owns no such volume (calls that take a VolumeId)
//   FAILED_PRECONDITION  the pool is not the one it should be (disk not mounted, wrong disk)
//   INTERNAL             a system call failed, or a record is damaged; nothing was guessed
//   UNAVAILABLE          the pool's storage is not there or does not answer; a repetition finds
//                        out what was done
//   ABORTED              another process changes the volume (in pools that several processes
//                        serve), or a copy of it is being made in steps, and how far that is: then
//                        it is not mapped, grown or deleted
class Pool {
 public:
  virtual ~Pool() = default;

  [[nodiscard]] virtual const PoolInfo& info() const = 0;

  // Waits, for a bounded time, until storage that is not there was first tried. OK if the pool is
  // open, and if it will be served once its storage is there. NOT_FOUND if the storage is not there
  // and the pool was never served with this state directory; INVALID_ARGUMENT and ABORTED for what
  // only an operator can put right: the start must be refused.
  [[nodiscard]] virtual absl::Status WaitUntilOpened() { return absl::OkStatus(); }

  // Counts the provisioned space and lists the volumes: what must be known before any call below.
  // Called once. What an earlier process left half done is left to Repair.
  [[nodiscard]] virtual absl::Status Recover() = 0;

  // What is half done, as far as it shows without a lock: a call that is under way looks so too, so
  // Repair looks again. Changes nothing.
  [[nodiscard]] virtual absl::StatusOr<std::vector<Leftover>> FindLeftovers() = 0;

  // Ends what is half done of the volume, forwards or backwards; false if nothing is. What cannot
  // be proved to be the pool's own and unwanted is left untouched: the error says what and why.
  [[nodiscard]] virtual absl::StatusOr<bool> Repair(const VolumeId& id) = 0;

  // This pool, accessed with the credentials in `secrets`; this pool itself if it needs none. Valid
  // as long as this pool. INVALID_ARGUMENT naming `secrets` if they lack them. Calls to this pool
  // itself use the most recent credentials that worked.
  [[nodiscard]] virtual absl::StatusOr<Pool*> WithCredentials(const Secrets&) { return this; }

  // OK when the pool can serve. Any error says what is missing.
  [[nodiscard]] virtual absl::Status CheckReady() = 0;

  // The id that a volume of this CO name has or would have.
  [[nodiscard]] virtual VolumeId IdForName(const std::string& name) const = 0;

  // The same of a snapshot: in a name space of its own, so that no volume has the UUID.
  [[nodiscard]] virtual VolumeId IdForSnapshotName(const std::string& name) const {
    VolumeId id = IdForName(kSnapshots);
    id.uuid = *UuidOfName(id.uuid, name);  // a UUID, as UuidOfName requires
    return id;
  }

  // The same of the snapshot of `source` that is held for a copy of that name: no snapshot of the
  // CO has its UUID.
  [[nodiscard]] VolumeId IdForHold(const ContentSource& source, const std::string& name) const;

  // The id of what the spec asks for.
  [[nodiscard]] VolumeId IdForSpec(const VolumeSpec& spec) const;

  // Makes the volume or snapshot, or returns the one of that name. ALREADY_EXISTS: one with other
  // properties; RESOURCE_EXHAUSTED: not enough room; OUT_OF_RANGE: a size that cannot be.
  // UNAVAILABLE: failed and could not be undone yet; a repetition continues. If there is a source,
  // the caller holds its lock, too. NOT_FOUND: there is no such source; INVALID_ARGUMENT: it cannot
  // become what is asked for; FAILED_PRECONDITION: it cannot be copied, and what is needed. A copy
  // may take many steps, each by a repetition or by Repair: a snapshot is returned at once, in
  // state copying; a volume is when it is complete, and until then the answer is ABORTED.
  [[nodiscard]] virtual absl::StatusOr<Volume> Create(const VolumeSpec& spec) = 0;

  // Removes the volume and its bytes; or keeps them in the trash, if the volume (keep_deleted) or
  // the pool says so. OK if there is none. FAILED_PRECONDITION, with the volume
  // unaltered, while it is mounted or published; UNAVAILABLE when the deletion has begun but
  // something holds the device open.
  [[nodiscard]] virtual absl::Status Delete(const VolumeId& id) = 0;

  [[nodiscard]] virtual absl::StatusOr<Volume> Get(const VolumeId& id) = 0;

  // Up to `limit` (0: all) volumes whose uuid is greater than `after_uuid`, by uuid. Leaves
  // out volumes whose records are damaged; fails if the records cannot be read now.
  [[nodiscard]] virtual absl::StatusOr<std::vector<Volume>> List(const std::string& after_uuid,
                                                                 std::size_t limit) = 0;

  // Volumes for which Create returns ABORTED so far, for people: no other call knows them.
  [[nodiscard]] virtual absl::StatusOr<std::vector<UnfinishedVolume>> ListUnfinished() {
    return std::vector<UnfinishedVolume>();
  }

  // As Delete, Get and List, of snapshots. A snapshot is never in use.
  [[nodiscard]] virtual absl::Status DeleteSnapshot(const VolumeId& id) = 0;
  [[nodiscard]] virtual absl::StatusOr<Volume> GetSnapshot(const VolumeId& id) = 0;
  [[nodiscard]] virtual absl::StatusOr<std::vector<Volume>> ListSnapshots(
      const std::string& after_uuid, std::size_t limit) = 0;

  // What is in the trash, by key. Nothing where the pool has none.
  [[nodiscard]] virtual absl::StatusOr<std::vector<TrashEntry>> ListTrash() {
    return std::vector<TrashEntry>();
  }
  // Gives the volume or snapshot back its id; the caller holds the lock of that place. NOT_FOUND:
  // there is no such entry, or it is being purged; ALREADY_EXISTS: there is another one with its
  // id; FAILED_PRECONDITION: its bytes are not those that were deleted; ABORTED: another call is at
  // work on the entry; UNAVAILABLE: it failed and could not be undone yet.
  [[nodiscard]] virtual absl::StatusOr<Volume> RestoreTrash(const TrashId& id);
  // Removes it and its bytes. Errors as RestoreTrash.
  [[nodiscard]] virtual absl::Status PurgeTrash(const TrashId& id);
  // What is due: purges an entry whose time is over, ends what was begun, notes how long it was
  // kept. Whether it is gone.
  [[nodiscard]] virtual absl::StatusOr<bool> TendTrash(const TrashId&) { return false; }

  // Begins to cut a snapshot of a group: `spec.group` is set, and `spec.name` is GroupMemberName.
  // The volume is recorded and its room reserved, and nothing of it is cut yet. ABORTED: there is
  // one, or one that is undecided. FAILED_PRECONDITION: the pool cannot cut it, and what is needed.
  // Otherwise as Create.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<MemberCut>> BeginCut(const VolumeSpec& spec);

  // Begins to hold back the writers of a volume that another process cuts, whose Hold said that
  // this node has it as `device` (Writers). It is a MemberCut that cuts nothing and makes no
  // snapshot. Null if this process does not have that device. Asks nothing but the kernel.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<MemberCut>> BeginHold(
      const VolumeId& id, const std::string& device, const CutOptions& cut);

  // Ends what is undecided of the group's snapshot with that id: if `keep` is set it becomes one as
  // any other, otherwise it is removed. One that was kept before stays. The caller holds its lock,
  // and knows that the group's deciding member is kept or, to remove this one, that it is not
  // there; of the deciding member, that all others are sealed. Whether it is there now.
  [[nodiscard]] virtual absl::StatusOr<bool> EndMember(const VolumeId& id, const std::string& group,
                                                       bool keep);

  // The snapshots of the group that are there. Of a pool that several processes serve, only the
  // controller knows any.
  [[nodiscard]] virtual absl::StatusOr<std::vector<Volume>> MembersOf(const std::string&) {
    return std::vector<Volume>();
  }

  // The snapshots that are undecided, from memory; none of a pool that several processes serve.
  [[nodiscard]] virtual std::vector<Volume> Undecided() { return {}; }
  // The one with that id. NOT_FOUND: there is none that is undecided.
  [[nodiscard]] virtual absl::StatusOr<Volume> FindUndecided(const VolumeId& id);

  // What another pool must know of a snapshot before it takes its bytes. ABORTED while it is still
  // being copied; FAILED_PRECONDITION if the pool cannot hand out bytes.
  [[nodiscard]] virtual absl::StatusOr<Content> DescribeContent(const VolumeId& id);
  // Its bytes. They are read without the lock, and never differ from those of the snapshot: if that
  // is deleted, they can be read on, or the reader fails with ABORTED.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<ContentReader>> ReadContent(
      const VolumeId& id);

  // For a snapshot that is held (VolumeSpec::hold): it is needed for another hour, and then removed
  // by Repair, unless this is called again. Nothing changes for other snapshots. Cheap.
  [[nodiscard]] virtual absl::Status KeepHeld(const VolumeId& id);

  // Which ranges of the snapshot's bytes hold data; with a base, another snapshot of its volume,
  // which differ from that one's. A page from `offset` on, a multiple of kRangeGranularity; the
  // answer goes on at RangePage::next. Read without the lock, as by ReadContent. OUT_OF_RANGE and
  // INVALID_ARGUMENT as CheckQuestion; ABORTED while one of them is being copied;
  // FAILED_PRECONDITION if the pool cannot tell.
  [[nodiscard]] virtual absl::StatusOr<RangePage> FindRanges(const VolumeId& snapshot,
                                                             const std::optional<VolumeId>& base,
                                                             Bytes offset);

  // For a volume that was created with VolumeSpec::content of that version and for which Create
  // returns ABORTED since. With the writer its bytes may be written without the lock; what is
  // written to one that was deleted meanwhile is lost. ABORTED if it is no such volume any more.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<ImageWriter>> WriteContent(
      const VolumeId& id, const std::string& version);
  // Everything before `to` is written and synced: a later WriteContent goes on from there. ABORTED
  // if the volume is not the one any more that the writer with that `arrival` was made for.
  [[nodiscard]] virtual absl::Status NoteArrived(const VolumeId& id, const std::string& arrival,
                                                 Bytes to);
  // All of it is: the volume comes into use. Errors as NoteArrived.
  [[nodiscard]] virtual absl::Status FinishArrival(const VolumeId& id, const std::string& arrival);

  // Looks at the bytes, so not for every call. FAILED_PRECONDITION if the pool does not know.
  [[nodiscard]] virtual absl::StatusOr<SnapshotUse> GetSnapshotUse(const VolumeId& id);

  // The storage that the volume alone has, as the pool counted it last: from memory, 0 if there is
  // no such volume. FAILED_PRECONDITION if only the storage knows.
  [[nodiscard]] virtual absl::StatusOr<Bytes> AllocatedTo(const VolumeId& id);

  // Makes the volume at least `required` and at most `limit` (0: none) bytes large and lets an
  // attached device see it. Never shrinks: a larger volume is returned as it is.
  // RESOURCE_EXHAUSTED: no room, and the volume is as before; OUT_OF_RANGE: limit below any size.
  [[nodiscard]] virtual absl::StatusOr<Volume> Grow(const VolumeId& id, Bytes required,
                                                    Bytes limit) = 0;

  // What could still be created. Cheap: from memory and one question to the pool's storage.
  [[nodiscard]] virtual absl::StatusOr<PoolCapacity> GetCapacity(Provisioning provisioning) = 0;
  [[nodiscard]] virtual absl::StatusOr<PoolUsage> GetUsage() = 0;

  // Whether the volume's storage keeps what it promises.
  [[nodiscard]] virtual VolumeCondition Condition(const Volume& volume) = 0;

  // Those of several volumes of this pool, in their order; sooner where each has to be waited for.
  [[nodiscard]] virtual std::vector<VolumeCondition> Conditions(std::span<const Volume> volumes) {
    std::vector<VolumeCondition> conditions;
    for (const Volume& volume : volumes) conditions.push_back(Condition(volume));
    return conditions;
  }

  // Lets the node stage the volume (ControllerPublishVolume), for clusters that attach. Idempotent.
  // ALREADY_EXISTS: with another mode already; FAILED_PRECONDITION names another node that has it
  // and cannot share it, or that its bytes are on.
  [[nodiscard]] virtual absl::Status PublishTo(const VolumeId& id, const std::string& node,
                                               AccessMode mode) = 0;

  // Takes that back from the node, or from all of them if `node` is empty. One that still has the
  // volume is cut off from it before this returns. OK if there is nothing to take back, or no such
  // volume. FAILED_PRECONDITION while the volume is in use on this very node.
  [[nodiscard]] virtual absl::Status UnpublishFrom(const VolumeId& id, const std::string& node) = 0;

  // Makes the volume a block device of this node, of exactly its capacity; returns the same device
  // when it is one already. Finishes a growth that was cut short and refills a thick volume first.
  // `mode` says with which other nodes it may be one, where every node reaches the volumes; a
  // reader's device is read-only there. FAILED_PRECONDITION: the stored bytes are not those that
  // the record describes, or another node has the volume.
  [[nodiscard]] virtual absl::StatusOr<os::BlockDevice> MapDevice(const VolumeId& id,
                                                                  AccessMode mode) = 0;

  // The device that MapDevice made, if it is there.
  [[nodiscard]] virtual absl::StatusOr<std::optional<os::BlockDevice>> FindDevice(
      const VolumeId& id) = 0;

  // Removes the device. OK if there is none, or no such volume. FAILED_PRECONDITION, with nothing
  // changed, while it is mounted, published or open. UNAVAILABLE: the device is unused, but the
  // kernel has not released it or its shared claim could not be removed; retry later.
  [[nodiscard]] virtual absl::Status UnmapDevice(const VolumeId& id) = 0;

  // Volumes that have a device made by MapDevice, of this process or an earlier one. Devices that
  // another program made of the same bytes are left out as far as that is known without asking a
  // cluster; UnmapOwnDevice makes sure.
  [[nodiscard]] virtual absl::StatusOr<std::vector<VolumeId>> ListOwnDevices() = 0;

  // UnmapDevice for a device that nothing is known to need: FAILED_PRECONDITION also if MapDevice
  // did not make it, or if there is another one of the same bytes.
  [[nodiscard]] virtual absl::Status UnmapOwnDevice(const VolumeId& id) = 0;

  // ready -> formatting, with the filesystem's UUID, durable before it returns.
  [[nodiscard]] virtual absl::Status StartFormatting(const VolumeId& id,
                                                     const std::string& filesystem_uuid) = 0;

  // formatting -> formatted, durable before it returns: from here on the volume may hold data. A
  // pool that can note it with the bytes does so before it changes the record.
  [[nodiscard]] virtual absl::Status FinishFormatting(const VolumeId& id) = 0;

  // The UUID of the filesystem that FinishFormatting noted with the bytes, whatever the record says
  // now; "" if there is no such note. INTERNAL when it cannot be read.
  [[nodiscard]] virtual absl::StatusOr<std::string> FormattedUuid(const VolumeId& id) = 0;

  // inherited -> formatted: the copied filesystem has the recorded UUID now. Durable before it
  // returns, and noted with the bytes as FinishFormatting does.
  [[nodiscard]] virtual absl::Status FinishAdoption(const VolumeId& id) = 0;

  // ready, raw block -> inherited: the bytes are that filesystem, which another program has put
  // there, and the volume is a filesystem volume from now on. Durable before it returns. The
  // volume as it is then. FAILED_PRECONDITION in any other state, and for filesystem volumes.
  [[nodiscard]] virtual absl::StatusOr<Volume> TakeOverFilesystem(
      const VolumeId& id, const std::string& filesystem, const std::string& filesystem_uuid) = 0;

  // Makes every byte of a volume in state formatting zero again, so that an interrupted mkfs can be
  // repeated on a blank device. Detaches it. FAILED_PRECONDITION in any other state, and where
  // FormattedUuid names a filesystem. The caller has looked whether there is a used one.
  [[nodiscard]] virtual absl::Status ZeroVolume(const VolumeId& id) = 0;
};

}  // namespace holdfast::pool
