// SPDX-License-Identifier: Apache-2.0
#include "file/file_syntax.h"

#include "pool/space_policy.h"

namespace holdfast::file {
namespace {

absl::Status Check(const std::string& location, const PoolKeys& keys) {
  if (!location.starts_with('/')) {
    return InvalidArgument("directory '{}' must be an absolute path", location);
  }
  return pool::ParseSpacePolicy(keys).status();
}

constexpr PoolSyntax kSyntax{.kind = "file",
                             .location = "DIRECTORY",
                             .help = R"(Image files: --pool=NAME=file:DIRECTORY, with the keys
reserve=10Gi or 5% (room kept for the host; 5%), overcommit=1.5 (thin bytes promised
per byte of room; 1), watermark=90% (no thin promises above this use; 90%).)",
                             .keys = pool::kSpaceKeys,
                             .is_shared = false,
                             .check = Check};

}  // namespace

const PoolSyntax& FileSyntax() { return kSyntax; }

}  // namespace holdfast::file
