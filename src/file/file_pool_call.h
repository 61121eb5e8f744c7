// SPDX-License-Identifier: Apache-2.0
// One call of a file pool: the state machine over the pool's directory as it was verified for it.
#pragma once

#include <memory>
#include <string>

#include "file/file_pool.h"
#include "file/file_volumes.h"
#include "pool/volume_lifecycle.h"

namespace holdfast::file {

// What the state machine works on in one call; `pool` must outlive it.
struct FilePool::Call {
  Call(FilePool& owner, const VerifiedPool& pool, const CutOptions& cut = {})
      : records(owner.records_, pool),
        backend(owner.devices_, pool,
                {.quiesce = [&owner](const std::string& uuid, const os::BlockDevice& device,
                                     const CutOptions& options)
                     -> absl::StatusOr<std::unique_ptr<pool::Quiet>> {
                   if (!owner.quiesce_) return nullptr;
                   return owner.quiesce_(owner.IdOfUuid(uuid), device, options);
                 },
                 .rate = owner.copy_rate_,
                 .unshared = owner.unshared_,
                 .cut = cut},
                owner.records_.HasCopies()),
        space(owner.space_, pool),
        volumes(records, backend, space) {}
  FileRecords records;
  FileBackend backend;
  FileSpaceOfCall space;
  pool::VolumeLifecycle volumes;
};

}  // namespace holdfast::file
