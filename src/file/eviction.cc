// SPDX-License-Identifier: Apache-2.0
#include "file/eviction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "core/text_file.h"
#include "os/file.h"
#include "os/host_filesystem.h"
#include "os/unique_fd.h"

namespace holdfast::file {
namespace {

constexpr char kKubelet[] = "/var/lib/kubelet";
constexpr char kKubeletConfig[] = "/var/lib/kubelet/config.yaml";

// Where kubelet and the usual runtimes keep pods and images.
constexpr std::array<const char*, 6> kWatched = {
    kKubelet,          "/var/lib/containerd", "/var/lib/containers",
    "/var/lib/docker", "/var/lib/rancher",    "/var/lib/k0s"};

// The kubelet's defaults (KubeletConfiguration v1beta1).
constexpr double kNodefsAvailable = 0.10;
constexpr double kImagefsAvailable = 0.15;
constexpr double kImageCollection = 85;  // percent in use

// The subvolumes of a btrfs have device numbers of their own and share its space.
bool IsSameFilesystem(int one, int other) {
  struct stat first {};
  struct stat second {};
  if (::fstat(one, &first) != 0 || ::fstat(other, &second) != 0) return false;
  if (first.st_dev == second.st_dev) return true;
  const auto identity = os::FilesystemIdentity(one);
  return identity.ok() && identity->starts_with("btrfs:") &&
         *identity == os::FilesystemIdentity(other).value_or("");
}

// "15%" or "10Gi", as a part of `total`.
absl::StatusOr<double> PartOf(const YAML::Node& value, Bytes total) {
  if (!value.IsScalar()) return InvalidArgument("a threshold must be a percentage or a size");
  std::string text = value.Scalar();
  if (text.ends_with('%')) {
    text.pop_back();
    double percent = 0;
    if (YAML::convert<double>::decode(YAML::Node(text), percent) && percent >= 0 &&
        percent <= 100) {
      return percent / 100;
    }
    return InvalidArgument("'{}' must be a percentage", value.Scalar());
  }
  ASSIGN_OR_RETURN(const Bytes bytes, ParseBytes(text));
  return static_cast<double>(bytes) / static_cast<double>(std::max<Bytes>(total, 1));
}

// The higher one of the two that concern disks.
absl::StatusOr<double> HighestOf(const YAML::Node& thresholds, double nodefs, double imagefs,
                                 Bytes total) {
  for (const auto& [signal, found] :
       {std::pair{"nodefs.available", &nodefs}, std::pair{"imagefs.available", &imagefs}}) {
    if (thresholds && thresholds.IsMap() && thresholds[signal]) {
      ASSIGN_OR_RETURN(*found, PartOf(thresholds[signal], total));
    }
  }
  return std::max(nodefs, imagefs);
}

// A configuration with evictionHard has none of the defaults of those that it leaves out, unless it
// asks for them.
absl::StatusOr<double> HighestIn(const YAML::Node& config, Bytes total) {
  if (!config.IsMap()) return InvalidArgument("the configuration must be a map");
  const YAML::Node hard = config["evictionHard"];
  const bool has_defaults = !hard || config["mergeDefaultEvictionSettings"].as<bool>(false);
  ASSIGN_OR_RETURN(const double hard_free, HighestOf(hard, has_defaults ? kNodefsAvailable : 0,
                                                     has_defaults ? kImagefsAvailable : 0, total));
  ASSIGN_OR_RETURN(const double soft_free, HighestOf(config["evictionSoft"], 0, 0, total));
  double collection = kImageCollection;
  const YAML::Node given = config["imageGCHighThresholdPercent"];
  if (given &&
      !(YAML::convert<double>::decode(given, collection) && collection >= 0 && collection <= 100)) {
    return InvalidArgument("imageGCHighThresholdPercent must be a percentage");
  }
  return std::max({hard_free, soft_free, 1 - collection / 100});
}

}  // namespace

std::optional<std::string> WatchedOnFilesystemOf(int root_fd) {
  if (!os::OpenDirectory(kKubelet).ok()) return std::nullopt;
  for (const char* const path : kWatched) {
    const auto watched = os::OpenDirectory(path);
    if (watched.ok() && IsSameFilesystem(root_fd, watched->get())) return path;
  }
  return std::nullopt;
}

pool::SpacePolicy WithReserveForKubelet(pool::SpacePolicy policy, int root_fd) {
  if (!policy.reserve_given && WatchedOnFilesystemOf(root_fd)) {
    policy.reserve_fraction = kReserveBesideKubelet;
  }
  return policy;
}

absl::StatusOr<double> HighestThreshold(const std::string& config, Bytes total) {
  try {
    return HighestIn(YAML::Load(config), total);
  } catch (const YAML::Exception& error) {
    return InvalidArgument("the kubelet's configuration: {}", error.what());
  }
}

EvictionThreshold FindEvictionThreshold(Bytes total) {
  EvictionThreshold defaults{.free = kImagefsAvailable, .source = "its defaults"};
  const auto config = ReadTextFile(kKubeletConfig);
  if (absl::IsNotFound(config.status())) return defaults;
  absl::Status problem = config.status();
  if (config.ok()) {
    const auto highest = HighestThreshold(*config, total);
    if (highest.ok()) return {.free = *highest, .source = kKubeletConfig};
    problem = highest.status();
  }
  defaults.source = fmt::format("its defaults, because {} cannot be read: {}", kKubeletConfig,
                                MessageOf(problem));
  return defaults;
}

}  // namespace holdfast::file
