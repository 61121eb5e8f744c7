// SPDX-License-Identifier: Apache-2.0
#include "pool/trash_policy.h"

namespace holdfast::pool {

absl::StatusOr<TrashPolicy> ParseTrashPolicy(const PoolKeys& keys) {
  TrashPolicy policy;
  if (const auto keep = keys.find(kKeepDeleted); keep != keys.end()) {
    ASSIGN_OR_RETURN(policy.keep, ParseRetention(keep->second));
  }
  const auto trash = keys.find("trash");
  if (trash == keys.end() || trash->second == "keep") return policy;
  if (trash->second != "reclaim") {
    return InvalidArgument("trash='{}' must be keep or reclaim", trash->second);
  }
  policy.reclaim = true;
  return policy;
}

}  // namespace holdfast::pool
