// SPDX-License-Identifier: Apache-2.0
// What Kubernetes adds to requests about the objects that they are made for: csi-provisioner and
// csi-snapshotter with --extra-create-metadata as parameters, the kubelet for a CSIDriver with
// podInfoOnMount in the volume context. A value that no object can have as a name is left out: the
// keys are the CO's, so a request never fails because of them.
#pragma once

#include <google/protobuf/map.h>

#include <optional>
#include <string>

#include "core/kubernetes_name.h"

namespace holdfast::rpc {

// The claim and the PersistentVolume that CreateVolume is called for. Nothing if neither is named.
[[nodiscard]] std::optional<RequestingObjects> ClaimIn(
    const google::protobuf::Map<std::string, std::string>& parameters);

// The VolumeSnapshot and its content that CreateSnapshot is called for, likewise.
[[nodiscard]] std::optional<RequestingObjects> VolumeSnapshotIn(
    const google::protobuf::Map<std::string, std::string>& parameters);

// "NAMESPACE/NAME" of the pod that NodePublishVolume is called for; empty if it is not named.
[[nodiscard]] std::string PodIn(
    const google::protobuf::Map<std::string, std::string>& volume_context);

}  // namespace holdfast::rpc
