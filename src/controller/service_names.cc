// SPDX-License-Identifier: Apache-2.0
// One name is one volume, whatever pool a class names.
#include "controller/service.h"
#include "core/log.h"

namespace holdfast::controller {
namespace {

// For a free place to ask a pool over a network: each question takes milliseconds unless it hangs.
constexpr std::chrono::milliseconds kPatience{500};
// One that did not answer is not asked again for this long.
constexpr std::chrono::seconds kAvoidance{30};

}  // namespace

// A volume that is there counts first: where it is not wanted, the name is taken all the same, and
// anything but ALREADY_EXISTS would make the CO believe that it has none.
absl::Status Service::RequirePlace(const csi::v1::CreateVolumeRequest& request,
                                   const CreateRequest& create) const {
  const pool::PoolInfo& info = create.pool->info();
  const absl::Status place = CheckTopology(request.accessibility_requirements(), info);
  const absl::Status unused = place.ok() ? RequireUnused(request.name(), info.name) : place;
  if (unused.ok()) return unused;
  const bool is_here = create.pool->Get(create.pool->IdOf(request.name())).ok();
  if (place.ok()) return is_here ? absl::OkStatus() : unused;
  if (!is_here) return place;
  return AlreadyExists("a volume named '{}' exists in pool '{}', and {}", request.name(), info.name,
                       MessageOf(place));
}

absl::Status Service::RequireUnused(const std::string& name, const std::string& but) const {
  for (pool::Pool* const pool : env_.pools.all()) {
    if (pool->info().name == but) continue;
    const absl::Status found = FindNamed(*pool, name);
    if (found.ok()) {
      return AlreadyExists("a volume named '{}' exists in pool '{}'", name, pool->info().name);
    }
    if (absl::IsNotFound(found)) continue;
    LogWarning("whether pool '{}' has a volume named '{}' is not known: {}", pool->info().name,
               name, MessageOf(found));
  }
  return absl::OkStatus();
}

// OK if the pool has it, NOT_FOUND if not.
absl::Status Service::FindNamed(pool::Pool& pool, const std::string& name) const {
  const VolumeId id = pool.IdOf(name);
  if (!pool.info().node.empty()) return pool.Get(id).status();
  const Places::Place place = questions_.Take(kPatience);
  {
    const std::lock_guard lock(mutex_);
    const auto avoided = avoided_.find(pool.info().name);
    const auto now = std::chrono::steady_clock::now();
    if (avoided != avoided_.end() && now < avoided->second) {
      return Unavailable("it did not answer a moment ago");
    }
  }
  if (place == nullptr) return Unavailable("it has not answered other questions yet");
  absl::Status found = pool.Get(id).status();
  if (absl::IsUnavailable(found)) {
    const std::lock_guard lock(mutex_);
    avoided_[pool.info().name] = std::chrono::steady_clock::now() + kAvoidance;
  }
  return found;
}

}  // namespace holdfast::controller
