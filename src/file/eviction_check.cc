// SPDX-License-Identifier: Apache-2.0
#include "file/eviction_check.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "os/host_filesystem.h"

namespace holdfast::file {
namespace {

// Kubelet's defaults (KubeletConfiguration v1beta1): it evicts pods when less than 10 % of
// nodefs.available or 15 % of imagefs.available is left, and collects images at 85 % in use.
constexpr double kWantedFree = 0.15;

constexpr char kKubelet[] = "/var/lib/kubelet";

// Where kubelet and the usual runtimes keep pods and images.
constexpr std::array<const char*, 6> kWatched = {
    kKubelet,          "/var/lib/containerd", "/var/lib/containers",
    "/var/lib/docker", "/var/lib/rancher",    "/var/lib/k0s"};

// The first of them that is on the filesystem of `root_fd`.
std::optional<std::string> WatchedBeside(int root_fd) {
  struct stat pool {};
  if (::fstat(root_fd, &pool) != 0) return std::nullopt;
  for (const char* const path : kWatched) {
    struct stat watched {};
    if (::stat(path, &watched) == 0 && watched.st_dev == pool.st_dev) return path;
  }
  return std::nullopt;
}

}  // namespace

Finding CheckEviction(const std::string& pool, int root_fd, const pool::SpacePolicy& policy) {
  Finding finding{.what = pool + ", eviction",
                  .why =
                      "kubelet removes images and evicts pods when less than 15 % of the disk that "
                      "it watches is free, and volumes may fill it up to the pool's reserve"};
  struct stat kubelet {};
  if (::stat(kKubelet, &kubelet) != 0) {
    finding.found = "there is no kubelet here";
    return finding;
  }
  const auto space = os::MeasureFilesystem(root_fd);
  if (!space.ok()) {
    finding.found = fmt::format("not known: {}", MessageOf(space.status()));
    return finding;
  }
  const std::optional<std::string> watched = WatchedBeside(root_fd);
  if (!watched) {
    finding.found = "the pool has a filesystem of its own";
    return finding;
  }
  const auto total = static_cast<double>(space->total);
  const double reserve =
      std::max(static_cast<double>(policy.reserve_bytes) / total, policy.reserve_fraction);
  finding.found = fmt::format("shares a filesystem with {}, and {:.0f} % of it is in reserve",
                              *watched, 100 * reserve);
  if (reserve > kWantedFree) return finding;
  finding.level = FindingLevel::kWarning;
  finding.remedy = "give the pool a filesystem of its own, or a reserve of 20 %";
  return finding;
}

}  // namespace holdfast::file
