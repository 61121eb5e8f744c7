// SPDX-License-Identifier: Apache-2.0
// What the help of the lists says below the flags.
#pragma once

namespace holdfast::cli {

inline constexpr char kVolumesFooter[] = R"(Examples:

  holdfast volumes
  holdfast volumes --namespace shop --abnormal
  holdfast volumes --node n1 --output wide   with ids, devices, mount points and messages
  holdfast volumes --output json             every field, sizes in bytes, for scripts

CLAIM is the claim in Kubernetes as NAMESPACE/NAME, or the caller's name for the volume where that is not
known. USED is what the storage has allocated. STATE: copying (a restore or clone that is not complete; its
claim waits), ready (not formatted yet), formatting, formatted, inherited (a copy whose filesystem gets its
own UUID when it is first staged). An abnormal volume is red; --output wide says what is wrong with it, and
which snapshot or volume it was made from.
On a controller nodes that do not answer are named on standard error, or as "unreachable" in JSON, and the
exit code is 1.)";

inline constexpr char kSnapshotsFooter[] = R"(Examples:

  holdfast snapshots
  holdfast snapshots --output wide   with what they occupy and share, and their volumes' ids
  holdfast snapshots --output json   every field, sizes in bytes, for scripts

SNAPSHOT is the VolumeSnapshot in Kubernetes as NAMESPACE/NAME, or the caller's name for the snapshot. SIZE is
that of the volume. STATE: ready, or, in a pool that cannot share blocks, how much is copied: until
it is complete, nothing can use the volume; held: made for the clone of that name in another pool or on
another node, and removed when that is complete. BLOCKS: shared with the volume and with other copies (costs
space when they are overwritten), settling (the same, of a thick snapshot, which gets its own in the
background), or own; in Ceph only the cluster knows. CREATED is the instant whose content it has.
Copies of snapshots are volumes: holdfast volumes.)";

inline constexpr char kPoolsFooter[] = R"(Examples:

  holdfast pools
  holdfast pools --endpoint unix:///var/lib/kubelet/plugins/csi.holdfast.dev/csi.sock
  holdfast pools --abnormal
  holdfast pools --output json       every field, sizes in bytes, for scripts

FREE is what the storage has left; THICK and THIN are the largest volumes of each kind that could be
made now, after what is provisioned already and the reserve. A pool with a problem is red.)";

inline constexpr char kNodesFooter[] = R"(Examples:

  holdfast nodes                     on a controller
  holdfast nodes --abnormal          those that are missing or have a pool with a problem

STATE: connected, missing (it was connected in the last ten minutes), or local: the instance that answers is
that node. THICK and THIN are the room for volumes of each kind in all pools of the node.)";

inline constexpr char kLeftoversFooter[] = R"(Examples:

  holdfast leftovers
  holdfast leftovers --output wide   with what to do about each

What an interrupted call left behind and Holdfast has not removed, because it is not certainly its own or is
still in use. `holdfast doctor` on the node reports the same.)";

}  // namespace holdfast::cli
