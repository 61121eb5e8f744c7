// SPDX-License-Identifier: Apache-2.0
// The id of a deleted volume or snapshot that is kept for a while: where it was, and when it was
// deleted. The time makes two deletions under one name two entries.
#pragma once

#include <absl/time/time.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/volume_id.h"

namespace holdfast {

// "<pool>:<node>:<uuid>.<time>". No id of a volume, snapshot or group is like it.
struct TrashId {
  std::string pool;
  std::string node;
  std::string key;  // "<uuid>.<time>": its name within the pool

  [[nodiscard]] std::string ToString() const;
  // The place that the volume or snapshot had before it was deleted.
  [[nodiscard]] VolumeId place() const;

  // Nothing when `text` was not made by ToString: such an entry cannot exist.
  [[nodiscard]] static std::optional<TrashId> Parse(std::string_view text);

  friend bool operator==(const TrashId&, const TrashId&) = default;
};

// "<uuid>.20261125T084500Z". A time that no such text can say becomes the nearest one that can.
[[nodiscard]] std::string TrashKey(const std::string& uuid, absl::Time deleted_at);
[[nodiscard]] bool IsTrashKey(std::string_view key);
// What is in the key, which is one.
[[nodiscard]] std::string UuidOfTrashKey(const std::string& key);
[[nodiscard]] absl::Time TimeOfTrashKey(const std::string& key);

}  // namespace holdfast
