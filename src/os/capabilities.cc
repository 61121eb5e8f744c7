// SPDX-License-Identifier: Apache-2.0
#include "os/capabilities.h"

#include <sys/capability.h>

#include <memory>
#include <type_traits>

namespace holdfast::os {
namespace {

bool HasEffective(cap_value_t capability) {
  const std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void*)> set(::cap_get_proc(),
                                                                          ::cap_free);
  cap_flag_value_t value = CAP_CLEAR;
  return set != nullptr && ::cap_get_flag(set.get(), capability, CAP_EFFECTIVE, &value) == 0 &&
         value == CAP_SET;
}

}  // namespace

bool HasCapSysResource() { return HasEffective(CAP_SYS_RESOURCE); }
bool HasCapSysAdmin() { return HasEffective(CAP_SYS_ADMIN); }

}  // namespace holdfast::os
