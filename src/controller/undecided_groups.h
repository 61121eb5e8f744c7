// SPDX-License-Identifier: Apache-2.0
// Ends what is undecided of group snapshots over several nodes, as soon as the nodes can be asked.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "controller/local_groups.h"
#include "core/key_lock.h"
#include "core/mutex.h"
#include "link/hub.h"

namespace holdfast::controller {

// Nodes say what is undecided with their pools (link.proto), when they connect and when it changes.
// The node of the deciding member says whether the group is there. Has a thread.
class UndecidedGroups final {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds kInterval{5000};

  // All outlive it.
  UndecidedGroups(link::Hub& hub, LocalGroups& own, KeyLock& volume_locks,
                  milliseconds interval = kInterval)
      : hub_(hub), own_(own), volume_locks_(volume_locks), interval_(interval) {}
  UndecidedGroups(const UndecidedGroups&) = delete;
  UndecidedGroups& operator=(const UndecidedGroups&) = delete;
  ~UndecidedGroups();

  // Whether the deciding member, which is on a node, is there; if it is undecided it is removed.
  // For members in the controller's own pools, whose lock the caller holds. UNAVAILABLE while the
  // node is not connected.
  [[nodiscard]] absl::StatusOr<bool> IsKept(const std::string& group, const VolumeId& decides);

  // Once. UNAVAILABLE when no thread can be started.
  [[nodiscard]] absl::Status Start();

 private:
  void Run();
  void Round();
  absl::Status End(const std::string& node, const link::v1::Undecided& undecided);

  link::Hub& hub_;
  LocalGroups& own_;
  KeyLock& volume_locks_;
  const milliseconds interval_;
  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::controller
