// SPDX-License-Identifier: Apache-2.0
// A place whose volumes can be cut together: the pools of one process. A group snapshot may have
// members at several sites, and one coordinator leads them all through the same steps
// (controller/group_cut.h, docs/adr/0030).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/secrets.h"
#include "core/volume.h"
#include "proto/csi.pb.h"

namespace holdfast::controller {

// A volume that another site cuts, and whose writers this one holds back. Its pool is one that
// every node reaches.
struct HeldVolume {
  VolumeId volume;
  std::string device;  // pool::Writers::device
};

// What one site has to cut, and to hold back for another one.
struct GroupPart {
  SnapshotGroup group;
  std::string attempt;  // a UUID, so that what is left of an earlier one is not taken for this one
  std::vector<VolumeId> sources;
  std::vector<HeldVolume> held = {};
  std::map<std::string, std::string> parameters;
  Secrets secrets = {};
};

// A member that is part of its group.
struct FoundMember {
  csi::v1::Snapshot snapshot;
  SnapshotGroup group;
  std::map<std::string, std::string> parameters;
};

// One thread at a time for one group. UNAVAILABLE if the site, or a pool of it, cannot be asked. An
// error of Hold, Cut or Seal ends the attempt at this site: writers go on, and its members are
// removed, or will be.
class GroupSite {
 public:
  using Ids = std::vector<VolumeId>;

  virtual ~GroupSite() = default;

  // A volume whose writers cannot be held back here.
  struct Unheld {
    VolumeId volume;
    std::string node = "";  // that perhaps can: pool::Writers::node
    std::string device = "";
  };

  // Records the members and holds back the writers of their volumes and of those in `held`, for no
  // longer than the parameters say. Returns the volumes of both kinds whose writers cannot be held
  // back. A site without sources that can hold nothing back ends the attempt itself. Errors as
  // Pool::BeginCut; ABORTED while another call uses a volume.
  [[nodiscard]] virtual absl::StatusOr<std::vector<Unheld>> Hold(const GroupPart& part) = 0;
  [[nodiscard]] virtual absl::Status Cut(const GroupPart& part) = 0;
  // Lets the writers go on and makes the cuts durable. ABORTED if the writers went on before.
  [[nodiscard]] virtual absl::Status Seal(const GroupPart& part) = 0;

  // Pool::EndMember, of these members at this site; those that are there now. ABORTED while the
  // group is being cut, if `keep` is set; otherwise that is ended, too.
  [[nodiscard]] virtual absl::StatusOr<Ids> End(const std::string& group, const Ids& members,
                                                bool keep) = 0;
  // Deletes these members of the group, also undecided ones, and what an earlier deletion has left.
  // OK for those that are not there.
  [[nodiscard]] virtual absl::Status Delete(const std::string& group, const Ids& members) = 0;

  // The members of the group that are there.
  [[nodiscard]] virtual absl::StatusOr<std::vector<FoundMember>> Find(const std::string& group) = 0;
};

}  // namespace holdfast::controller
