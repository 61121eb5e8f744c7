// SPDX-License-Identifier: Apache-2.0
// Names of the Kubernetes objects that a volume or snapshot was made for. They are for people:
// nothing is decided by them.
#pragma once

#include <string>
#include <string_view>

namespace holdfast {

// What was asked for in Kubernetes, as the sidecar said; parts that it did not say are empty.
struct RequestingObjects {
  std::string name_space;  // of the claim, or of the VolumeSnapshot
  std::string name;        // of the claim, or of the VolumeSnapshot
  std::string content;     // name of the PersistentVolume, or of the VolumeSnapshotContent

  friend bool operator==(const RequestingObjects&, const RequestingObjects&) = default;
};

// True for a name that an object can have (a DNS subdomain, RFC 1123): 1..253 characters of
// [a-z0-9.-], the first and the last of which are letters or digits.
[[nodiscard]] bool IsKubernetesName(std::string_view text);

// True if each part is a name or empty, and not all are.
[[nodiscard]] bool IsSound(const RequestingObjects& objects);

// True for "NAMESPACE/NAME" of such names.
[[nodiscard]] bool IsNamespacedName(std::string_view text);

}  // namespace holdfast
