// SPDX-License-Identifier: Apache-2.0
// A Ceph user and its secret key, from a file or from the secrets of a call.
#pragma once

#include <string>
#include <string_view>

#include "core/secrets.h"
#include "core/status.h"
#include "rbd/ceph_access.h"

namespace holdfast::rbd {

// The key of client.`user` in the text of a Ceph keyring ("[client.NAME]", "key = ..."), or the
// text itself where it is nothing but a key (a Kubernetes secret's userKey, mounted as a file).
// FAILED_PRECONDITION, without any of the text, if there is none.
[[nodiscard]] absl::StatusOr<std::string> FindCephKey(std::string_view text, std::string_view user);

// The same from a file. FAILED_PRECONDITION also if it cannot be read.
[[nodiscard]] absl::StatusOr<std::string> ReadCephKey(const std::string& path,
                                                      std::string_view user);

// The key of the user that reaches the cluster, from the access itself or its keyring. Errors as
// ReadCephKey.
[[nodiscard]] absl::StatusOr<std::string> KeyOf(const CephAccess& access);

// The user that a CSI call brings along: secrets userID and userKey.
struct CephUser {
  std::string name;  // without "client."
  std::string key;   // base64 text
};

// INVALID_ARGUMENT naming `secrets` and what of it is missing or malformed, never a value.
[[nodiscard]] absl::StatusOr<CephUser> UserIn(const Secrets& secrets);

}  // namespace holdfast::rbd
