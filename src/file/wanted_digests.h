// SPDX-License-Identifier: Apache-2.0
// The snapshots whose blocks were asked for, and which have no table of digests yet. What a killed
// process has noted is noted again by the next such question.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/mutex.h"

namespace holdfast::file {

// Thread-safe.
class WantedDigests final {
 public:
  void Add(const std::string& uuid) {
    const MutexLock lock(mutex_);
    reached_.try_emplace(uuid, 0);
  }
  // Up to where its table is made (MakeDigestTable); nothing if none is wanted.
  [[nodiscard]] std::optional<Bytes> Find(const std::string& uuid) const {
    const MutexLock lock(mutex_);
    const auto found = reached_.find(uuid);
    return found == reached_.end() ? std::nullopt : std::optional(found->second);
  }
  void Note(const std::string& uuid, Bytes reached) {
    const MutexLock lock(mutex_);
    reached_[uuid] = reached;
  }
  void Remove(const std::string& uuid) {
    const MutexLock lock(mutex_);
    reached_.erase(uuid);
  }
  [[nodiscard]] std::vector<std::string> Uuids() const {
    const MutexLock lock(mutex_);
    std::vector<std::string> uuids;
    for (const auto& [uuid, reached] : reached_) uuids.push_back(uuid);
    return uuids;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, Bytes> reached_ ABSL_GUARDED_BY(mutex_);  // by uuid
};

}  // namespace holdfast::file
