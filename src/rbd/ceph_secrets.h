// SPDX-License-Identifier: Apache-2.0
// The Ceph user that a CSI call brings along: secrets userID and userKey.
#pragma once

#include <string>

#include "core/secrets.h"
#include "core/status.h"

namespace holdfast::rbd {

struct CephUser {
  std::string name;  // without "client."
  std::string key;   // base64 text
};

// INVALID_ARGUMENT naming `secrets` and what of it is missing or malformed, never a value.
[[nodiscard]] absl::StatusOr<CephUser> UserIn(const Secrets& secrets);

}  // namespace holdfast::rbd
