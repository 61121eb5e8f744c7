// SPDX-License-Identifier: Apache-2.0
// The secret key of a Ceph user, as operators keep it.
#pragma once

#include <string>
#include <string_view>

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

// The key of the user by whom the cluster is reached, from wherever it is kept. Errors as
// ReadCephKey.
[[nodiscard]] absl::StatusOr<std::string> KeyOf(const CephAccess& access);

}  // namespace holdfast::rbd
