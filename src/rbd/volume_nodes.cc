// SPDX-License-Identifier: Apache-2.0
#include "rbd/volume_nodes.h"

#include <algorithm>
#include <array>

#include "core/checked_json.h"
#include "core/volume_id.h"

namespace holdfast::rbd {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr char kWhat[] = "record of the volume's nodes";
constexpr std::array<std::pair<Sharing, std::string_view>, 3> kSharings = {{
    {Sharing::kAlone, "alone"},
    {Sharing::kReaders, "readers"},
    {Sharing::kWriters, "writers"},
}};

std::string_view NameOf(Sharing sharing) {
  return std::ranges::find(kSharings, sharing, [](const auto& pair) { return pair.first; })->second;
}

absl::StatusOr<Sharing> SharingNamed(const std::string& name) {
  for (const auto& [sharing, known] : kSharings) {
    if (known == name) return sharing;
  }
  return Internal("{} is damaged: nodes cannot share as '{}'", kWhat, name);
}

template <typename Node>
absl::Status RequireSharing(const std::vector<Node>& nodes) {
  for (auto one = nodes.begin(); one != nodes.end(); ++one) {
    for (auto other = nodes.begin(); other != one; ++other) {
      if (one->node != other->node && CanShare(*one, *other)) continue;
      return Internal("{} is damaged: nodes '{}' and '{}' cannot both have it", kWhat, other->node,
                      one->node);
    }
  }
  return absl::OkStatus();
}

// Nodes write these records. Messages quote them, and ask people to type what they quote.
absl::Status RequireNode(const std::string& node) {
  if (ValidateNodeId(node).ok()) return absl::OkStatus();
  return Internal("{} is damaged: it has a node that cannot be", kWhat);
}

absl::Status RequireAddress(const std::string& address) {
  constexpr char kOfAddresses[] = "0123456789abcdefABCDEF.:[]/";
  if (address.find_first_not_of(kOfAddresses) == std::string::npos) return absl::OkStatus();
  return Internal("{} is damaged: it has a client address that cannot be", kWhat);
}

absl::StatusOr<DeviceClaim> DecodeClaim(const json& object) {
  DeviceClaim holder{.node = object.at("node").get<std::string>(),
                     .client_address = object.at("client_address").get<std::string>(),
                     .sharing = Sharing::kAlone,
                     .read_only = object.at("read_only").get<bool>(),
                     .boot_id = object.value("boot_id", "")};
  RETURN_IF_ERROR(RequireNode(holder.node));
  RETURN_IF_ERROR(RequireAddress(holder.client_address));
  ASSIGN_OR_RETURN(holder.sharing, SharingNamed(object.at("sharing").get<std::string>()));
  return holder;
}

}  // namespace

bool CanShare(const DeviceClaim& one, const DeviceClaim& other) {
  return one.sharing == other.sharing && one.sharing != Sharing::kAlone;
}

bool CanShare(const PublishedNode& one, const PublishedNode& other) {
  const Sharing sharing = SharingOf(one.access_mode);
  return sharing == SharingOf(other.access_mode) && sharing != Sharing::kAlone;
}

const PublishedNode* VolumeNodes::FindPublished(std::string_view node) const {
  const auto found = std::ranges::find(published, node, &PublishedNode::node);
  return found == published.end() ? nullptr : &*found;
}

const DeviceClaim* VolumeNodes::Find(std::string_view node) const {
  const auto found = std::ranges::find(holders, node, &DeviceClaim::node);
  return found == holders.end() ? nullptr : &*found;
}

VolumeNodes VolumeNodes::With(DeviceClaim holder) const {
  VolumeNodes nodes = Without(holder.node);
  nodes.holders.push_back(std::move(holder));
  return nodes;
}

VolumeNodes VolumeNodes::Without(std::string_view node) const {
  VolumeNodes nodes = *this;
  std::erase_if(nodes.holders, [&](const DeviceClaim& holder) { return holder.node == node; });
  return nodes;
}

std::string EncodeNodes(const VolumeNodes& nodes) {
  if (nodes == VolumeNodes()) return "";
  json holders = json::array();
  for (const DeviceClaim& holder : nodes.holders) {
    holders.push_back({{"node", holder.node},
                       {"client_address", holder.client_address},
                       {"sharing", NameOf(holder.sharing)},
                       {"read_only", holder.read_only},
                       {"boot_id", holder.boot_id}});
  }
  json published = json::array();
  for (const PublishedNode& one : nodes.published) {
    published.push_back({{"node", one.node}, {"access_mode", ToString(one.access_mode)}});
  }
  return EncodeChecked(json{{"holders", std::move(holders)}, {"published", std::move(published)}},
                       kVersion);
}

absl::StatusOr<VolumeNodes> DecodeNodes(const std::string& text) {
  VolumeNodes nodes;
  if (text.empty()) return nodes;
  ASSIGN_OR_RETURN(const json object, DecodeChecked(text, kVersion, kWhat));
  try {
    for (const json& described : object.at("holders")) {
      ASSIGN_OR_RETURN(DeviceClaim holder, DecodeClaim(described));
      nodes.holders.push_back(std::move(holder));
    }
    for (const json& described : object.at("published")) {
      const auto mode = ParseAccessMode(described.at("access_mode").get<std::string>());
      RETURN_IF_ERROR(Annotate(WithCode(mode.status(), absl::StatusCode::kInternal), kWhat));
      nodes.published.push_back({described.at("node").get<std::string>(), *mode});
      RETURN_IF_ERROR(RequireNode(nodes.published.back().node));
    }
  } catch (const json::exception& error) {
    return Internal("{} is damaged: {}", kWhat, error.what());
  }
  RETURN_IF_ERROR(RequireSharing(nodes.holders));
  RETURN_IF_ERROR(RequireSharing(nodes.published));
  return nodes;
}

}  // namespace holdfast::rbd
