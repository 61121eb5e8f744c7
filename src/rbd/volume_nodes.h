// SPDX-License-Identifier: Apache-2.0
// The nodes that have a volume as a device or may have it, as recorded beside the volume's record,
// and the rule for which other nodes may join them (docs/adr/0018).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/volume_use.h"

namespace holdfast::rbd {

// A node on which a volume is, or is about to be, a device. Announced before mapping, claimed with
// the client's address after it and before the first access; held until it is unmapped, by its node
// or, when its client is gone, by the node that fences it.
struct DeviceClaim {
  std::string node;
  std::string client_address;  // of the node's client for this one device; empty: announced
  Sharing sharing = Sharing::kAlone;
  bool read_only =
      false;  // how it is mapped; such a client has no watch that shows that it is alive
  // Of the kernel that has the device: two machines that were given one name have two.
  std::string boot_id = "";

  friend bool operator==(const DeviceClaim&, const DeviceClaim&) = default;
};

// Whether two nodes may have a volume at once: only if both share it, in the same way. So a
// filesystem that one node may write has no other node.
[[nodiscard]] bool CanShare(const DeviceClaim& one, const DeviceClaim& other);

// A node on which the volume may be staged, where that is asked for (docs/adr/0019).
struct PublishedNode {
  std::string node;
  AccessMode access_mode = AccessMode::kSingleNodeWriter;

  friend bool operator==(const PublishedNode&, const PublishedNode&) = default;
};
[[nodiscard]] bool CanShare(const PublishedNode& one, const PublishedNode& other);

// In each list a node is at most once, and any two of them can share.
struct VolumeNodes {
  std::vector<DeviceClaim> holders;
  std::vector<PublishedNode> published;

  [[nodiscard]] const DeviceClaim* Find(std::string_view node) const;
  [[nodiscard]] const PublishedNode* FindPublished(std::string_view node) const;
  [[nodiscard]] VolumeNodes With(DeviceClaim holder) const;  // in the place of its node's, if any
  [[nodiscard]] VolumeNodes Without(std::string_view node) const;

  friend bool operator==(const VolumeNodes&, const VolumeNodes&) = default;
};

// Empty for no nodes.
[[nodiscard]] std::string EncodeNodes(const VolumeNodes& nodes);

// INTERNAL if the text is damaged, or names nodes that cannot share: nothing is decided by it.
[[nodiscard]] absl::StatusOr<VolumeNodes> DecodeNodes(const std::string& text);

}  // namespace holdfast::rbd
