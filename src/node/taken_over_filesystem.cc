// SPDX-License-Identifier: Apache-2.0
#include "node/taken_over_filesystem.h"

#include "core/log.h"
#include "fs/filesystem.h"
#include "fs/probe.h"

namespace holdfast::node {

absl::StatusOr<Volume> TakeOverFilesystem(pool::Pool& pool, const Volume& volume,
                                          const os::BlockDevice& device,
                                          const std::string& wanted) {
  const std::string id = volume.id.ToString();
  ASSIGN_OR_RETURN(const fs::ProbeResult found, fs::Probe(device));
  if (found.content == fs::Content::kNothingRecognised) {
    return FailedPrecondition(
        "volume '{}' is a raw block volume, and holds no filesystem that could be mounted; a raw "
        "block volume is never formatted",
        id);
  }
  const fs::Signature& signature = found.signature;
  const bool known = fs::FindFilesystem(signature.type) != nullptr && IsUuid(signature.uuid);
  if (!known || (!wanted.empty() && wanted != signature.type)) {
    return FailedPrecondition(
        "volume '{}' is a raw block volume, and holds {} {}, which cannot be used as {}", id,
        signature.type, signature.uuid, wanted.empty() ? "a filesystem volume" : wanted);
  }
  LogInfo("volume {}: a raw block volume that holds {} {}; it is a filesystem volume from now on",
          id, signature.type, signature.uuid);
  return pool.TakeOverFilesystem(volume.id, signature.type, signature.uuid);
}

}  // namespace holdfast::node
