// SPDX-License-Identifier: Apache-2.0
#include "rpc/kubernetes_objects.h"

namespace holdfast::rpc {
namespace {

using Map = google::protobuf::Map<std::string, std::string>;

std::string NameAt(const Map& map, const char* key) {
  const auto found = map.find(key);
  return found != map.end() && IsKubernetesName(found->second) ? found->second : "";
}

std::optional<RequestingObjects> Found(RequestingObjects objects) {
  if (!IsSound(objects)) return std::nullopt;
  return objects;
}

}  // namespace

std::optional<RequestingObjects> ClaimIn(const Map& parameters) {
  return Found({.name_space = NameAt(parameters, "csi.storage.k8s.io/pvc/namespace"),
                .name = NameAt(parameters, "csi.storage.k8s.io/pvc/name"),
                .content = NameAt(parameters, "csi.storage.k8s.io/pv/name")});
}

std::optional<RequestingObjects> VolumeSnapshotIn(const Map& parameters) {
  return Found({.name_space = NameAt(parameters, "csi.storage.k8s.io/volumesnapshot/namespace"),
                .name = NameAt(parameters, "csi.storage.k8s.io/volumesnapshot/name"),
                .content = NameAt(parameters, "csi.storage.k8s.io/volumesnapshotcontent/name")});
}

std::string PodIn(const Map& volume_context) {
  const std::string pod = NameAt(volume_context, "csi.storage.k8s.io/pod.namespace") + "/" +
                          NameAt(volume_context, "csi.storage.k8s.io/pod.name");
  return IsNamespacedName(pod) ? pod : "";
}

}  // namespace holdfast::rpc
