// SPDX-License-Identifier: Apache-2.0
#include "os/capabilities.h"

#include <sys/capability.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <type_traits>

namespace holdfast::os {
namespace {

using Set = std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void*)>;

// deploy/systemd/holdfast.service has the same list, docs/security.md the reasons.
constexpr std::array kNeeded = {CAP_SYS_ADMIN, CAP_SYS_RESOURCE, CAP_MKNOD, CAP_DAC_OVERRIDE,
                                CAP_FOWNER};

bool HasEffective(cap_value_t capability) {
  const Set set(::cap_get_proc(), ::cap_free);
  cap_flag_value_t value = CAP_CLEAR;
  return set != nullptr && ::cap_get_flag(set.get(), capability, CAP_EFFECTIVE, &value) == 0 &&
         value == CAP_SET;
}

}  // namespace

absl::Status KeepNeededCapabilities() {
  const Set set(::cap_get_proc(), ::cap_free);
  if (set == nullptr) return OsError(errno, "cannot read the process's capabilities");
  for (cap_value_t capability = 0; capability < ::cap_max_bits(); ++capability) {
    if (std::ranges::find(kNeeded, capability) != kNeeded.end()) continue;
    for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE, CAP_INHERITABLE}) {
      if (::cap_set_flag(set.get(), flag, 1, &capability, CAP_CLEAR) != 0) {
        return OsError(errno, "cannot choose capabilities");
      }
    }
  }
  if (::cap_set_proc(set.get()) != 0) return OsError(errno, "cannot give up capabilities");
  // Without this a program that root starts has all capabilities again (capabilities(7)).
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) return absl::OkStatus();
  return OsError(errno, "cannot forbid new privileges");
}

bool HasCapSysResource() { return HasEffective(CAP_SYS_RESOURCE); }
bool HasCapSysAdmin() { return HasEffective(CAP_SYS_ADMIN); }

absl::Status RequireMountRights() {
  if (HasCapSysAdmin()) return absl::OkStatus();
  return FailedPrecondition(
      "{} lacks CAP_SYS_ADMIN, without which nothing can be mounted: run Holdfast as root; in a "
      "container, make it privileged",
      ::geteuid() == 0 ? "root" : "this user");
}

}  // namespace holdfast::os
