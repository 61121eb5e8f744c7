// SPDX-License-Identifier: Apache-2.0
// Keys of the kernel's Ceph client in this thread's keyring: a secret that no buffer, command line
// or sysfs file shows (keyrings(7)).
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace holdfast::os {

// Keeps the key in the keyring until it is destroyed. Do not pass it to another thread: a process
// keyring belongs to the thread that made it.
class [[nodiscard]] CephKernelKey final {
 public:
  // `name` is the name by which the kernel looks it up; `base64` is the key as Ceph prints it.
  // FAILED_PRECONDITION if the text is no Ceph key, or this kernel knows no Ceph keys (module
  // libceph); INTERNAL if it refuses the key.
  [[nodiscard]] static absl::StatusOr<CephKernelKey> Add(const std::string& name,
                                                         const std::string& base64);

  CephKernelKey(CephKernelKey&& other) noexcept;
  CephKernelKey& operator=(CephKernelKey&&) = delete;
  ~CephKernelKey();

 private:
  explicit CephKernelKey(std::int32_t serial) : serial_(serial) {}
  std::int32_t serial_;  // 0: moved from
};

}  // namespace holdfast::os
