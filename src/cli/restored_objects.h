// SPDX-License-Identifier: Apache-2.0
// The Kubernetes objects that bring back what was restored from the trash.
#pragma once

#include <string>

#include "core/status.h"
#include "proto/admin.pb.h"

namespace holdfast::cli {

struct RestorationChoices {
  std::string storage_class;  // of the PersistentVolume, which must be its claim's; empty: none
  std::string access_mode = "ReadWriteOnce";  // likewise; no volume records its own
  std::string claim;  // NAMESPACE/NAME of the claim or VolumeSnapshot; empty: the recorded one
};

// Of a volume its PersistentVolume, for its claim; of a snapshot a VolumeSnapshotContent and the
// VolumeSnapshot that is bound to it; as JSON, for kubectl apply. Nothing that they name is deleted
// with them (Retain). NOT_FOUND if the claim or VolumeSnapshot is neither recorded nor given: an
// object without it could be anyone's.
[[nodiscard]] absl::StatusOr<std::string> ObjectsFor(
    const admin::v1::RestoreTrashResponse& restored, const RestorationChoices& choices);

}  // namespace holdfast::cli
