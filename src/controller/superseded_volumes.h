// SPDX-License-Identifier: Apache-2.0
// Deletes volumes that were given up before any caller heard of them (VolumeNames::Supersede), as
// soon as their nodes can be asked.
#pragma once

#include <map>
#include <thread>

#include "controller/node_calls.h"
#include "core/key_lock.h"
#include "core/mutex.h"

namespace holdfast::controller {

// Thread-safe. Its thread is started with the first such volume.
class SupersededVolumes final {
 public:
  // Both outlive it.
  SupersededVolumes(link::Hub& hub, KeyLock& volume_locks)
      : hub_(hub), volume_locks_(volume_locks), nodes_(hub) {}
  SupersededVolumes(const SupersededVolumes&) = delete;
  SupersededVolumes& operator=(const SupersededVolumes&) = delete;
  ~SupersededVolumes();

  // Gives the volume up. The caller holds NameKey of the name, here and below.
  void Add(const link::VolumeNames::Superseded& volume);

  // Deletes it now: OK when the node says that it has none. UNAVAILABLE when it cannot be asked.
  [[nodiscard]] absl::Status Delete(const link::VolumeNames::Superseded& volume,
                                    link::Deadline deadline);

 private:
  absl::Status DeleteOne(const link::VolumeNames::Superseded& volume, const VolumeId& id,
                         link::Deadline deadline);
  void Run();
  void DeleteWhatCanBe();

  link::Hub& hub_;
  KeyLock& volume_locks_;
  NodeCalls nodes_;
  // How often each was found deleted; used only by the thread.
  std::map<link::VolumeNames::Superseded, int> deletions_;
  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::controller
