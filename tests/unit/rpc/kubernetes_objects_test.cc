// SPDX-License-Identifier: Apache-2.0
#include "rpc/kubernetes_objects.h"

#include <catch2/catch.hpp>
#include <string>

namespace holdfast::rpc {
namespace kubernetes_objects_test {

using Map = google::protobuf::Map<std::string, std::string>;

Map MapOf(std::initializer_list<std::pair<std::string, std::string>> entries) {
  Map map;
  for (const auto& [key, value] : entries) map[key] = value;
  return map;
}

TEST_CASE("the claim is read from the provisioner's parameters") {
  const auto claim = ClaimIn(MapOf({{"csi.storage.k8s.io/pvc/name", "orders"},
                                    {"csi.storage.k8s.io/pvc/namespace", "shop"},
                                    {"csi.storage.k8s.io/pv/name", "pvc-1"},
                                    {"csi.storage.k8s.io/fstype", "ext4"}}));
  CHECK(claim == RequestingObjects{.name_space = "shop", .name = "orders", .content = "pvc-1"});
  CHECK_FALSE(ClaimIn(MapOf({{"csi.storage.k8s.io/fstype", "ext4"}})));
}

TEST_CASE("a value that is no name is left out, and the others stay") {
  CHECK(ClaimIn(MapOf({{"csi.storage.k8s.io/pvc/name", "\x1b[2J"},
                       {"csi.storage.k8s.io/pvc/namespace", "shop"}})) ==
        RequestingObjects{.name_space = "shop", .name = "", .content = ""});
  CHECK_FALSE(ClaimIn(MapOf({{"csi.storage.k8s.io/pvc/name", "Orders"}})));
}

TEST_CASE("the VolumeSnapshot is read from the snapshotter's parameters") {
  CHECK(VolumeSnapshotIn(MapOf({{"csi.storage.k8s.io/volumesnapshot/name", "nightly"},
                                {"csi.storage.k8s.io/volumesnapshot/namespace", "shop"},
                                {"csi.storage.k8s.io/volumesnapshotcontent/name", "content-1"}})) ==
        RequestingObjects{.name_space = "shop", .name = "nightly", .content = "content-1"});
}

TEST_CASE("the pod is read from the kubelet's volume context, or not at all") {
  Map context = MapOf({{"csi.storage.k8s.io/pod.name", "web-0"}});
  CHECK(PodIn(context).empty());
  context["csi.storage.k8s.io/pod.namespace"] = "shop";
  CHECK(PodIn(context) == "shop/web-0");
  context["csi.storage.k8s.io/pod.name"] = "web/0";
  CHECK(PodIn(context).empty());
}

}  // namespace kubernetes_objects_test
}  // namespace holdfast::rpc
