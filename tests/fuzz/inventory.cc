// SPDX-License-Identifier: Apache-2.0
// A node's part of a list on the controller, whatever the node says: the first byte chooses the
// list, the rest is the message. What is taken of it is the node's own, and fit for a terminal.
#include <google/protobuf/stubs/logging.h>

#include <string>

#include "core/kubernetes_name.h"
#include "core/message_text.h"
#include "core/trash_id.h"
#include "core/volume_id.h"
#include "input.h"
#include "link/frame.h"
#include "server/list_limits.h"
#include "server/node_entries.h"

namespace holdfast::fuzz {
namespace {

constexpr char kNode[] = "n1";

link::NodeView Node() {
  auto pools = std::make_shared<link::v1::Pools>();
  pools->add_pools()->set_name("default");
  return {kNode, std::move(pools), "1"};
}

void RequireName(const std::string& name) {
  Require(name.empty() || IsKubernetesName(name), "a Kubernetes name is one, or left out");
}

void RequireText(const std::string& text) {
  Require(text == MessageText(text), "text is one line of a bounded length");
}

void RequireOwn(const std::optional<VolumeId>& id, const std::string& pool,
                const std::string& node) {
  Require(id && id->node == kNode && id->pool == "default" && pool == "default" && node == kNode,
          "an entry is of the node and of a pool that it has");
}

void RequireSound(const admin::v1::ListVolumesResponse& list) {
  for (const admin::v1::Volume& volume : list.volumes()) {
    RequireOwn(VolumeId::Parse(volume.id()), volume.pool(), volume.node());
    RequireName(volume.kubernetes_namespace());
    RequireName(volume.claim());
    RequireName(volume.persistent_volume());
    for (const std::string& text : {volume.name(), volume.condition(), volume.device()}) {
      RequireText(text);
    }
    Require(volume.target_paths_size() <= server::kMostPaths, "a volume has few paths");
    for (const std::string& path : volume.target_paths()) RequireText(path);
    for (const std::string& pod : volume.pods()) Require(IsNamespacedName(pod), "a pod is one");
    Require(volume.capacity_bytes() >= -1 && volume.read_bytes() >= -1, "a size is one");
  }
}

void RequireSound(const admin::v1::ListSnapshotsResponse& list) {
  for (const admin::v1::Snapshot& snapshot : list.snapshots()) {
    RequireOwn(ParseSnapshotId(snapshot.id()), snapshot.pool(), snapshot.node());
    RequireName(snapshot.kubernetes_namespace());
    RequireName(snapshot.volume_snapshot());
    RequireText(snapshot.name());
  }
}

void RequireSound(const admin::v1::ListPoolsResponse& list) {
  for (const admin::v1::Pool& pool : list.pools()) {
    Require(pool.name() == "default" && pool.node() == kNode, "a pool is one of the node's");
    RequireText(pool.problem());
  }
}

void RequireSound(const admin::v1::ListLeftoversResponse& list) {
  for (const admin::v1::Leftover& leftover : list.leftovers()) {
    Require(leftover.node() == kNode, "a leftover is of the node");
    RequireText(leftover.problem());
  }
}

void RequireSound(const admin::v1::ListTrashResponse& list) {
  for (const admin::v1::TrashEntry& entry : list.trash()) {
    const auto id = TrashId::Parse(entry.id());
    RequireOwn(id ? std::optional(id->place()) : std::nullopt, entry.pool(), entry.node());
    const bool snapshot = entry.volume_id() == ToSnapshotId(id->place());
    Require(snapshot || entry.volume_id() == id->place().ToString(), "its id follows from it");
    RequireName(entry.kubernetes_namespace());
    RequireName(entry.kubernetes_name());
    RequireName(entry.kubernetes_content());
    RequireText(entry.name());
    Require(entry.remaining_seconds() >= -1, "a time is one");
  }
}

template <typename Response>
void Try(const std::string& bytes) {
  Response list;
  if (!link::ParseWithin(bytes, list).ok()) return;
  if (server::TakeFrom(Node(), list).ok()) RequireSound(list);
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace holdfast::fuzz;
  namespace admin = holdfast::admin;
  static const google::protobuf::LogSilencer silent;
  Input input(data, size);
  switch (input.Byte() % 5) {
    case 0:
      Try<admin::v1::ListVolumesResponse>(input.Rest());
      break;
    case 1:
      Try<admin::v1::ListSnapshotsResponse>(input.Rest());
      break;
    case 2:
      Try<admin::v1::ListPoolsResponse>(input.Rest());
      break;
    case 3:
      Try<admin::v1::ListLeftoversResponse>(input.Rest());
      break;
    default:
      Try<admin::v1::ListTrashResponse>(input.Rest());
  }
  return 0;
}
