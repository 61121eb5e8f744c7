// SPDX-License-Identifier: Apache-2.0
#include "os/kernel_key.h"

#include <absl/strings/escaping.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace holdfast::os {

absl::StatusOr<CephKernelKey> CephKernelKey::Add(const std::string& name,
                                                 const std::string& base64) {
  std::string secret;
  if (!absl::Base64Unescape(base64, &secret) || secret.empty()) {
    return FailedPrecondition("the key of '{}' is not a Ceph key: it is not base64", name);
  }
  const long serial = ::syscall(SYS_add_key, "ceph", name.c_str(), secret.data(), secret.size(),
                                KEY_SPEC_PROCESS_KEYRING);
  const int error = errno;
  secret.assign(secret.size(), '\0');
  if (serial >= 0) return CephKernelKey(static_cast<std::int32_t>(serial));
  if (error == ENODEV) {
    return FailedPrecondition("this kernel knows no Ceph keys; load its module: modprobe rbd");
  }
  if (error == EINVAL) return FailedPrecondition("the key of '{}' is not a Ceph key", name);
  return OsError(error, fmt::format("give the kernel the key of '{}'", name));
}

CephKernelKey::CephKernelKey(CephKernelKey&& other) noexcept
    : serial_(std::exchange(other.serial_, 0)) {}

CephKernelKey::~CephKernelKey() {
  if (serial_ != 0) {
    ::syscall(SYS_keyctl, KEYCTL_UNLINK, serial_, KEY_SPEC_PROCESS_KEYRING);
  }
}

}  // namespace holdfast::os
