// SPDX-License-Identifier: Apache-2.0
// One call of a file pool: the state machine over the pool's directory as it was verified for it.
#pragma once

#include <memory>
#include <string>

#include "file/file_pool.h"
#include "file/file_shelf.h"
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
                owner.HasCopies()),
        space(owner.space_, pool),
        shelf(owner.records_, pool, owner.trash_.policy().keep),
        volumes(records, backend, space, absl::Now, pool::Keeping{shelf, owner.trash_}) {}
  FileRecords records;
  FileBackend backend;
  FileSpaceOfCall space;
  FileShelf shelf;
  pool::VolumeLifecycle volumes;
};

}  // namespace holdfast::file
