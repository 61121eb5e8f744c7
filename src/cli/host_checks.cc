// SPDX-License-Identifier: Apache-2.0
#include "cli/host_checks.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "fs/filesystem.h"
#include "os/capabilities.h"
#include "os/mount_propagation.h"
#include "os/process.h"

namespace holdfast::cli {
namespace {

constexpr std::pair<int, int> kOldestKernel = {5, 12};
constexpr char kKubelet[] = "/var/lib/kubelet";

// "6.1.0-18-amd64" as {6, 1}; zeros for what is not there.
std::pair<int, int> VersionOf(std::string_view release) {
  std::pair<int, int> version = {0, 0};
  const char* const end = release.data() + release.size();
  const auto [rest, error] = std::from_chars(release.data(), end, version.first);
  if (error == std::errc() && rest != end) std::from_chars(rest + 1, end, version.second);
  return version;
}

// Each line of /proc/filesystems ends with a name.
bool IsRegistered(const std::string& filesystem) {
  std::ifstream file("/proc/filesystems");
  for (std::string line; std::getline(file, line);) {
    if (line.substr(line.find('\t') + 1) == filesystem) return true;
  }
  return false;
}

// Whether the kernel's module tree has it; nothing when the tree is not there (containers).
std::optional<bool> IsLoadable(const std::string& filesystem, const std::string& kernel_release) {
  std::ifstream file(fmt::format("/lib/modules/{}/modules.dep", kernel_release));
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str().find(fmt::format("/{}.ko", fs::FindFilesystem(filesystem)->kernel_module())) !=
         std::string::npos;
}

Finding CheckKernelSupport(const std::string& filesystem, FindingLevel absent,
                           const std::string& kernel_release) {
  Finding finding{.what = fmt::format("{} in the kernel", filesystem),
                  .why = fmt::format("without it volumes with {} cannot be mounted", filesystem)};
  if (IsRegistered(filesystem)) {
    finding.found = "there";
    return finding;
  }
  const std::optional<bool> loadable = IsLoadable(filesystem, kernel_release);
  if (loadable.value_or(false)) {
    finding.found = "a module, loaded by the first mount";
    return finding;
  }
  finding.level = loadable ? absent : FindingLevel::kWarning;
  finding.found = loadable ? "not there" : "not loaded; the kernel's modules cannot be seen here";
  finding.remedy = loadable ? fmt::format("use another filesystem, or a kernel with {}", filesystem)
                            : fmt::format("modprobe {} on the host",
                                          fs::FindFilesystem(filesystem)->kernel_module());
  return finding;
}

Finding CheckPrograms(const std::string& filesystem, FindingLevel absent) {
  Finding finding{.what = fmt::format("programs for {}", filesystem),
                  .why = fmt::format("volumes with {} are made and repaired by them", filesystem)};
  std::string there;
  std::string lacking;
  for (const std::string& program : fs::FindFilesystem(filesystem)->programs()) {
    std::string& list = os::FindProgram(program).ok() ? there : lacking;
    list += (list.empty() ? "" : ", ") + program;
  }
  finding.found = there;
  if (lacking.empty()) return finding;
  finding.level = absent;
  finding.found = fmt::format("not installed: {}", lacking);
  finding.remedy = fmt::format("apt-get install {}", fs::FindFilesystem(filesystem)->package());
  return finding;
}

}  // namespace

Finding CheckMountRights() {
  Finding finding{.what = "CAP_SYS_ADMIN",
                  .found = "held",
                  .why = "attaching loop devices and mounting need it (capabilities(7))"};
  if (os::HasCapSysAdmin()) return finding;
  finding.level = FindingLevel::kMissing;
  finding.found = ::geteuid() == 0 ? "root, but without this capability" : "not root";
  finding.remedy = "run this as root; in a container, make it privileged";
  return finding;
}

Finding CheckGrowthRights() {
  Finding finding{
      .what = "CAP_SYS_RESOURCE",
      .found = "held",
      .why =
          "the kernel grows a mounted ext3 or ext4 only for its holder; without it they "
          "grow when they are staged next; xfs and btrfs do not need it"};
  if (os::HasCapSysResource()) return finding;
  finding.level = FindingLevel::kWarning;
  finding.found = "not held";
  finding.remedy =
      "grant it (container: privileged, or SYS_RESOURCE among its capabilities), or use xfs";
  return finding;
}

std::string KernelRelease() {
  utsname names{};
  return ::uname(&names) == 0 ? names.release : "";
}

Finding CheckKernel(std::string_view release) {
  Finding finding{.what = "kernel",
                  .found = std::string(release),
                  .why =
                      "Linux 5.12 has mount_setattr(2), by which a read-only mount is read-only "
                      "before anybody sees it"};
  if (VersionOf(release) >= kOldestKernel) return finding;
  finding.level = FindingLevel::kMissing;
  finding.remedy = "boot Linux 5.12 or newer (Debian 12 has 6.1)";
  return finding;
}

Finding CheckKubeletPropagation() {
  Finding finding{.what = fmt::format("mounts below {}", kKubelet),
                  .why =
                      "kubelet, the driver and pods have mount name spaces of their own; a volume "
                      "mounted in one reaches the others only if the mount is shared"};
  std::error_code error;
  if (!std::filesystem::exists(kKubelet, error)) {
    finding.found = "there is no kubelet here";
  } else if (os::IsMountShared(kKubelet)) {
    finding.found = "shared";
  } else {
    finding.level = FindingLevel::kMissing;
    finding.found = "not shared";
    finding.remedy = fmt::format(
        "mount --bind {0} {0} && mount --make-rshared {0}, at every boot before kubelet starts; a "
        "container needs mountPropagation: Bidirectional",
        kKubelet);
  }
  return finding;
}

std::vector<Finding> CheckFilesystem(const std::string& filesystem, bool needed,
                                     const std::string& kernel_release) {
  const FindingLevel absent = needed ? FindingLevel::kMissing : FindingLevel::kWarning;
  return {CheckKernelSupport(filesystem, absent, kernel_release),
          CheckPrograms(filesystem, absent)};
}

}  // namespace holdfast::cli
