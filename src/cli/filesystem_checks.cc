// SPDX-License-Identifier: Apache-2.0
#include "cli/filesystem_checks.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "fs/filesystem.h"
#include "os/process.h"

namespace holdfast::cli {
namespace {

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

std::vector<Finding> CheckFilesystem(const std::string& filesystem, bool needed,
                                     const std::string& kernel_release) {
  const FindingLevel absent = needed ? FindingLevel::kMissing : FindingLevel::kWarning;
  return {CheckKernelSupport(filesystem, absent, kernel_release),
          CheckPrograms(filesystem, absent)};
}

}  // namespace holdfast::cli
