// SPDX-License-Identifier: Apache-2.0
// What a pool says of its trash.
#pragma once

#include <chrono>
#include <string>

#include "core/trash_id.h"
#include "core/volume.h"

namespace holdfast::pool {

// A deleted volume or snapshot that can still be restored.
struct TrashEntry {
  TrashId id;
  Volume volume;           // as it was, with its id
  std::string deleted_at;  // RFC 3339
  // How long it is kept, and how much of that has passed while a process served the pool.
  std::chrono::seconds keep{0};
  std::chrono::seconds kept{0};
  Bytes allocated = 0;  // that it alone had when it was deleted
};

// What is in the trash of a pool.
struct TrashUse {
  std::size_t entries = 0;
  Bytes allocated = 0;  // that they alone have, as it was when each was deleted
};

}  // namespace holdfast::pool
