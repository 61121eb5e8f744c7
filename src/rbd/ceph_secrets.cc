// SPDX-License-Identifier: Apache-2.0
#include "rbd/ceph_secrets.h"

#include "rbd/ceph_access.h"
#include "rbd/ceph_key.h"

namespace holdfast::rbd {
namespace {

constexpr char kUserId[] = "userID";
constexpr char kUserKey[] = "userKey";

absl::Status Missing(const char* key) {
  return InvalidArgument(
      "secrets: {} is missing; the pool has no user of its own, so the class must name the secret "
      "with {} and {} of a Ceph user",
      key, kUserId, kUserKey);
}

}  // namespace

absl::StatusOr<CephUser> UserIn(const Secrets& secrets) {
  CephUser user{.name = secrets.Reveal(kUserId), .key = ""};
  const std::string key = secrets.Reveal(kUserKey);
  if (user.name.empty()) return Missing(kUserId);
  if (key.empty()) return Missing(kUserKey);
  // It is also a word of a line to the kernel.
  if (!CheckCephName(user.name).ok()) {
    return InvalidArgument("secrets: {} must be of A-Z, a-z, 0-9, '.', '_' and '-'", kUserId);
  }
  auto found = FindCephKey(key, user.name);
  if (!found.ok()) return InvalidArgument("secrets: {} is not a Ceph key", kUserKey);
  user.key = *std::move(found);
  return user;
}

}  // namespace holdfast::rbd
