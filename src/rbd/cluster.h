// SPDX-License-Identifier: Apache-2.0
// Connections to Ceph clusters, shared by all pools that use the same one in the same way.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/mutex.h"
#include "rbd/ceph_access.h"
#include "rbd/ceph_library.h"

namespace holdfast::rbd {

// How long the libraries may wait for the cluster in one step of a call. librados itself waits for
// ever; a CO gives a call a minute at most, and every call takes few steps.
inline constexpr std::chrono::seconds kStepTime{10};

// What a call into the libraries came to.
struct CallResult {
  int error = 0;        // errno value, 0: success; ETIMEDOUT when it is unknown what was done
  absl::Status status;  // the same in words: see Cluster::Try
};

// One client of a cluster: its threads, its monitors' session, its address. Thread-safe.
class Cluster final {
 public:
  // FAILED_PRECONDITION: library missing, keyring unreadable, or user and key refused; UNAVAILABLE:
  // the monitors do not answer within kStepTime.
  [[nodiscard]] static absl::StatusOr<std::shared_ptr<Cluster>> Connect(const CephAccess& access);

  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] const CephLibrary& library() const { return library_; }
  [[nodiscard]] rados_t handle() const { return handle_; }
  [[nodiscard]] const std::string& fsid() const { return fsid_; }

  // Runs one call of the libraries, which answer with 0 or more, or with a negated errno.
  // `what` says what for, in errors. The status:
  //   UNAVAILABLE          no answer in time, or a failure after that time or the call's deadline,
  //                        whatever its code (the libraries then return any code); or this client
  //                        is dead: blocklisted
  //   RESOURCE_EXHAUSTED   pool full or at its quota
  //   FAILED_PRECONDITION  the user's caps do not allow it
  //   INTERNAL             anything else
  [[nodiscard]] CallResult Try(const std::string& what, const std::function<int()>& call);

  // Whether a call found this client blocklisted or shut down; only a new one helps.
  [[nodiscard]] bool is_dead() const { return dead_.load(std::memory_order_relaxed); }

  // The monitors' answer to a command, which is given and answered in JSON. Errors as Try.
  [[nodiscard]] absl::StatusOr<std::string> AskMonitors(const std::string& command);

 private:
  Cluster(const CephLibrary& library, rados_t handle) : library_(library), handle_(handle) {}
  absl::Status Configure(const CephAccess& access);
  absl::Status ReadFsid();

  const CephLibrary& library_;
  const rados_t handle_;
  std::string fsid_;
  std::atomic<bool> dead_{false};
};

// Thread-safe.
class Clusters final {
 public:
  // The connection for this access: the one that lives, or a new one in place of a dead one.
  // Errors as Cluster::Connect; that of an attempt that was not answered is good for some seconds.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<Cluster>> Get(const CephAccess& access);

  // Forgets that connection, which ends when it is no longer in use.
  void Forget(const CephAccess& access);

 private:
  struct Slot {
    Mutex mutex;                   // held while connecting: other callers need that connection, too
    std::atomic<int> attempts{0};  // that have ended
    absl::Status failure ABSL_GUARDED_BY(mutex);  // of the last attempt
    std::chrono::steady_clock::time_point failed_at ABSL_GUARDED_BY(mutex){};
    std::shared_ptr<Cluster> cluster ABSL_GUARDED_BY(mutex);
  };
  Slot& SlotOf(const CephAccess& access);

  Mutex mutex_;
  std::map<CephAccess, Slot> slots_ ABSL_GUARDED_BY(mutex_);  // a slot stays where it is
};

}  // namespace holdfast::rbd
