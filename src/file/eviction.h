// SPDX-License-Identifier: Apache-2.0
// The room that the kubelet wants to see free on its disks. Volumes of a pool on such a disk can
// fill it up to the pool's reserve, and then the kubelet removes images and evicts pods.
#pragma once

#include <optional>
#include <string>

#include "pool/space_policy.h"

namespace holdfast::file {

// Kept by default of a filesystem that the kubelet watches: more than the thresholds that the
// kubelet has by default, so that images are not removed for the sake of volumes.
inline constexpr double kReserveBesideKubelet = 0.20;

// What the kubelet of this host wants to see free on a filesystem.
struct EvictionThreshold {
  double free = 0;     // part of the filesystem, 0 to 1
  std::string source;  // for people: the file that says so, or "its defaults" and why
};

// The directory of the kubelet, or of a container runtime whose images the kubelet watches, that is
// on the filesystem of `root_fd`; nothing if there is none, or no kubelet on this host. What the
// caller's mount namespace does not show cannot be found: a node's container sees the kubelet's
// directory only.
[[nodiscard]] std::optional<std::string> WatchedOnFilesystemOf(int root_fd);

// The policy, with kReserveBesideKubelet if it has no reserve of its own and the kubelet watches
// the filesystem of `root_fd`.
[[nodiscard]] pool::SpacePolicy WithReserveForKubelet(pool::SpacePolicy policy, int root_fd);

// The highest of the thresholds below which the kubelet acts: evictionHard and evictionSoft of
// nodefs.available and imagefs.available, and imageGCHighThresholdPercent (KubeletConfiguration
// v1beta1, where each has a default). `total` is the filesystem's size in bytes, `config` the
// text of the configuration, in YAML or JSON. INVALID_ARGUMENT if it cannot be read.
[[nodiscard]] absl::StatusOr<double> HighestThreshold(const std::string& config, Bytes total);

// The same from /var/lib/kubelet/config.yaml, where kubeadm keeps it; from the defaults where that
// cannot be read. Thresholds that the kubelet has as flags are not seen.
[[nodiscard]] EvictionThreshold FindEvictionThreshold(Bytes total);

}  // namespace holdfast::file
