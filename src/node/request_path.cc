// SPDX-License-Identifier: Apache-2.0
#include "node/request_path.h"

namespace holdfast::node {

absl::StatusOr<os::TargetPath> OpenRequestPath(const std::string& path, const std::string& field) {
  absl::StatusOr<os::TargetPath> opened = os::TargetPath::Open(path, field);
  if (!absl::IsNotFound(opened.status())) return opened;
  return WithCode(opened.status(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace holdfast::node
