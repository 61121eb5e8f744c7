// SPDX-License-Identifier: Apache-2.0
#include "rbd/image_removals.h"

#include <chrono>
#include <condition_variable>
#include <optional>
#include <thread>
#include <utility>

#include "core/log.h"
#include "rbd/image.h"

namespace holdfast::rbd {
namespace {

using std::chrono::steady_clock;

// Less than what CSI's sidecars wait for a call.
constexpr std::chrono::seconds kPatience{20};

}  // namespace

struct ImageRemovals::Removal {
  const steady_clock::time_point begun = steady_clock::now();
  std::mutex mutex;
  std::condition_variable done;
  std::optional<absl::Status> result;  // guarded by mutex
};

absl::Status ImageRemovals::Remove(const CephPool& pool, const std::string& name) {
  const std::shared_ptr<Removal> removal = Join(pool, name);
  {
    std::unique_lock lock(removal->mutex);
    const bool ended =
        removal->done.wait_for(lock, kPatience, [&] { return removal->result.has_value(); });
    if (!ended) {
      return Unavailable(
          "image '{}' is still being removed, for {} s now", name,
          std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - removal->begun)
              .count());
    }
  }
  const std::lock_guard lock(mutex_);
  const auto found = removals_.find(name);
  if (found != removals_.end() && found->second == removal) removals_.erase(found);
  return *removal->result;  // set once
}

// The removal of this image that is under way, or a new one. One that outlives its image will never
// end.
std::shared_ptr<ImageRemovals::Removal> ImageRemovals::Join(const CephPool& pool,
                                                            const std::string& name) {
  std::shared_ptr<Removal> removal;
  {
    const std::lock_guard lock(mutex_);
    const auto found = removals_.find(name);
    if (found != removals_.end()) removal = found->second;
  }
  if (removal != nullptr) {
    const auto facts = steady_clock::now() - removal->begun > kPatience ? InspectImage(pool, name)
                                                                        : absl::UnknownError("");
    const bool outlives = facts.ok() && !facts->has_value();
    if (!outlives) return removal;
    LogWarning("librbd does not come back from removing image '{}'; asking it again", name);
  }
  removal = std::make_shared<Removal>();
  {
    const std::lock_guard lock(mutex_);
    removals_[name] = removal;
  }
  std::thread([removal, name, pool = pool.shared_from_this()] {
    absl::Status status = RemoveImage(*pool, name);
    const std::lock_guard lock(removal->mutex);
    removal->result = std::move(status);
    removal->done.notify_all();
  }).detach();
  return removal;
}

}  // namespace holdfast::rbd
