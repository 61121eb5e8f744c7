// SPDX-License-Identifier: Apache-2.0
#include "os/mount_propagation.h"

#include <fstream>
#include <sstream>

namespace holdfast::os {
namespace {

// The optional fields ("shared:1 master:2") of the mount that `path` is on, by mountinfo (proc(5)).
// Paths with blanks are escaped there; `path` and what leads to it have none.
std::string PropagationOf(const std::string& path) {
  std::ifstream mountinfo("/proc/self/mountinfo");
  std::string best;
  std::string fields;
  for (std::string line; std::getline(mountinfo, line);) {
    std::istringstream words(line);
    std::string skipped;
    std::string target;
    std::string options;
    words >> skipped >> skipped >> skipped >> skipped >> target >> options;
    const bool above = target == "/" || path == target || path.starts_with(target + "/");
    if (!above || target.size() < best.size()) continue;
    best = target;
    std::getline(words, fields);
    fields.erase(fields.find(" - "));
  }
  return fields;
}

}  // namespace

bool IsMountShared(const std::string& path) {
  return PropagationOf(path).find("shared:") != std::string::npos;
}

absl::Status RequireSharedMounts(const std::string& path) {
  if (IsMountShared(path)) return absl::OkStatus();
  return FailedPrecondition(
      "mounts below '{0}' would not reach kubelet and the pods, because its mount is not shared: "
      "in a "
      "container, mount it with mountPropagation: Bidirectional; on a host, mount --make-rshared "
      "the "
      "filesystem that it is on",
      path);
}

}  // namespace holdfast::os
