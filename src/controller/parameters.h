// SPDX-License-Identifier: Apache-2.0
// StorageClass parameters; docs/parameters.md documents them.
#pragma once

#include <google/protobuf/map.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/volume.h"

namespace holdfast::controller {

struct ClassParameters {
  // The pools that the volume may be made in, each once; empty: any that the node has, or for a
  // class of shared storage the default one.
  std::vector<std::string> pools;
  Provisioning provisioning = Provisioning::kThick;
  std::string mkfs_options;  // as written; each filesystem checks its own
  std::string filesystem;    // csi.storage.k8s.io/fstype, only in GetCapacity
  std::optional<std::chrono::seconds> keep_deleted;  // nothing: as the pool says
  std::map<std::string, std::string> given;          // all but the CO's own keys, for comparison
};

// The names in the value of the parameter "pool": "fast" or "fast, slow". INVALID_ARGUMENT if one
// is no name of a pool, or there twice.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> ParsePoolNames(const std::string& value);

// The inverse; empty if there are none.
[[nodiscard]] std::string PoolNamesText(const std::vector<std::string>& names);

// INVALID_ARGUMENT naming the key for unknown keys and bad values. Keys of "csi.storage.k8s.io/"
// are the CO's own and tolerated.
[[nodiscard]] absl::StatusOr<ClassParameters> ParseParameters(
    const google::protobuf::Map<std::string, std::string>& parameters);

// Whether the parameter is the CO's own and none of the class.
[[nodiscard]] bool IsOfCo(const std::string& key);

}  // namespace holdfast::controller
