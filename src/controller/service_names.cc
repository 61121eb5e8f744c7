// SPDX-License-Identifier: Apache-2.0
// One name is one volume, whatever pool a class names.
#include <chrono>

#include "controller/service.h"
#include "core/log.h"

namespace holdfast::controller {
namespace {

// How long CreateVolume waits for a pool that it does not name: an answer takes milliseconds unless
// that hangs.
constexpr std::chrono::milliseconds kNamePatience{500};

}  // namespace

// A volume that is there counts first: where it is not wanted, the name is taken all the same, and
// anything but ALREADY_EXISTS would make the CO believe that it has none.
absl::Status Service::RequirePlace(const csi::v1::CreateVolumeRequest& request,
                                   const CreateRequest& create) const {
  const pool::PoolInfo& info = create.pool->info();
  const absl::Status place = CheckTopology(request.accessibility_requirements(), info);
  const absl::Status unused = place.ok() ? RequireUnused(request.name(), info.name) : place;
  if (unused.ok()) return unused;
  const bool is_here = create.pool->Get(create.pool->IdForName(request.name())).ok();
  if (place.ok()) return is_here ? absl::OkStatus() : unused;
  if (!is_here) return place;
  return AlreadyExists("a volume named '{}' exists in pool '{}', and {}", request.name(), info.name,
                       MessageOf(place));
}

absl::Status Service::RequireUnused(const std::string& name, const std::string& but) const {
  for (pool::Pool* const pool : env_.pools.all()) {
    if (pool->info().name == but) continue;
    const absl::Status found = env_.pools.questions().Put(
        *pool, [name](pool::Pool& other) { return other.Get(other.IdForName(name)).status(); },
        kNamePatience);
    if (found.ok()) {
      return AlreadyExists("a volume named '{}' exists in pool '{}'", name, pool->info().name);
    }
    if (absl::IsNotFound(found)) continue;
    LogWarning("whether pool '{}' has a volume named '{}' is not known: {}", pool->info().name,
               name, MessageOf(found));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::controller
