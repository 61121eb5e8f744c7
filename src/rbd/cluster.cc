// SPDX-License-Identifier: Apache-2.0
#include "rbd/cluster.h"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "core/call_deadline.h"
#include "core/log.h"
#include "rbd/ceph_access.h"

namespace holdfast::rbd {
namespace {

constexpr std::size_t kFsidText = 37;

// A failure this close to the end of a step is the time-out itself, under whatever name.
constexpr std::chrono::milliseconds kAlmost{500};

// How long monitors that did not answer are not asked again.
constexpr std::chrono::seconds kFailureLife{5};

absl::Status Describe(int error, const std::string& what) {
  switch (error) {
    case ETIMEDOUT:
      return Unavailable("{}: the Ceph cluster did not answer in time; try again", what);
    case ESHUTDOWN:
    case ENOTCONN:
      return Unavailable("{}: this client of the Ceph cluster was fenced; try again", what);
    case ENOSPC:
    case EDQUOT:
      return ResourceExhausted("{}: the Ceph pool is full or at its quota", what);
    case EPERM:
    case EACCES:
      return FailedPrecondition("{}: the Ceph cluster refuses it; check user, key and caps", what);
    default:
      return OsError(error, what);
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<Cluster>> Cluster::Connect(const CephAccess& access) {
  ASSIGN_OR_RETURN(const CephLibrary* const library, LoadCephLibrary());
  rados_t handle = nullptr;
  const std::string name = "client." + access.user;
  const int created = library->rados_create2(&handle, "ceph", name.c_str(), 0);
  if (created < 0) return OsError(std::abs(created), "make a Ceph client");
  // From here on it must be shut down, connected or not.
  std::shared_ptr<Cluster> cluster(new Cluster(*library, handle));
  RETURN_IF_ERROR(cluster->Configure(access));
  const std::string what = fmt::format("connect to Ceph as {}", name);
  const CallResult connected = cluster->Try(what, [&] { return library->rados_connect(handle); });
  if (connected.error == ETIMEDOUT) {
    return Unavailable(
        "{}; check the monitors, the network and the key (a wrong key looks the "
        "same)",
        MessageOf(connected.status));
  }
  // The answer of librados to a malformed key.
  if (connected.error == EINVAL || connected.error == ENOENT) {
    return WithCode(connected.status, absl::StatusCode::kFailedPrecondition);
  }
  RETURN_IF_ERROR(connected.status);
  RETURN_IF_ERROR(cluster->ReadFsid());
  LogInfo("connected to Ceph cluster {} as {}", cluster->fsid(), name);
  return cluster;
}

Cluster::~Cluster() { library_.rados_shutdown(handle_); }

absl::Status Cluster::Configure(const CephAccess& access) {
  if (!access.conf.empty()) {
    const int read = library_.rados_conf_read_file(handle_, access.conf.c_str());
    if (read < 0) {
      return Annotate(OsError(std::abs(read), "read the Ceph configuration"), access.conf);
    }
  }
  ASSIGN_OR_RETURN(const std::string key, KeyOf(access));
  const std::string seconds = std::to_string(kStepTime.count());
  const std::pair<const char*, std::string> settings[] = {
      {"key", key},
      {"keyring", "/dev/null"},  // not the host's, if it has one
      // A request without an answer for this long makes librados ask for the map of the object
      // stores. It looks every 5 s; a request that is given up before never asks, and a client that
      // only knows where a store was before a crash would look for it there indefinitely.
      {"objecter_timeout", std::to_string(kStepTime.count() / 4)},
      {"rados_osd_op_timeout", seconds},
      {"rados_mon_op_timeout", seconds},
      {"client_mount_timeout", seconds},
      {"log_to_stderr", "false"},
      {"err_to_stderr", "false"},
      {"log_file", ""},
      {"admin_socket", ""},
      // Images are opened for moments and data is never read or written here.
      {"rbd_cache", "false"},
  };
  for (const auto& [name, value] : settings) {
    const int set = library_.rados_conf_set(handle_, name, value.c_str());
    if (set < 0) return OsError(std::abs(set), fmt::format("set Ceph option {}", name));
  }
  if (access.monitors.empty()) return absl::OkStatus();
  const int set = library_.rados_conf_set(handle_, "mon_host", access.monitors.c_str());
  if (set >= 0) return absl::OkStatus();
  return InvalidArgument("monitors '{}' are no list of addresses", access.monitors);
}

absl::Status Cluster::ReadFsid() {
  char text[kFsidText] = {};
  const CallResult read = Try("read the cluster's fsid", [&] {
    return library_.rados_cluster_fsid(handle_, text, sizeof(text));
  });
  fsid_ = text;
  return read.status;
}

CallResult Cluster::Try(const std::string& what, const std::function<int()>& call) {
  const auto start = std::chrono::steady_clock::now();
  const int result = call();
  if (result >= 0) return CallResult{};
  const auto duration = std::chrono::steady_clock::now() - start;
  CallResult failure{.error = -result, .status = {}};
  if (failure.error == ESHUTDOWN || failure.error == ENOTCONN) {
    dead_.store(true, std::memory_order_relaxed);
  } else if (duration >= kStepTime - kAlmost || IsPastCallDeadline()) {
    failure.error = ETIMEDOUT;
  }
  failure.status = Describe(failure.error, what);
  return failure;
}

absl::StatusOr<std::string> Cluster::AskMonitors(const std::string& command) {
  const char* commands[] = {command.c_str()};
  char* answer = nullptr;
  std::size_t answer_size = 0;
  char* words = nullptr;
  std::size_t words_size = 0;
  const CallResult asked = Try("ask the monitors", [&] {
    // Some versions report a timeout as a positive number.
    return -std::abs(library_.rados_mon_command(handle_, commands, 1, nullptr, 0, &answer,
                                                &answer_size, &words, &words_size));
  });
  std::string text(answer == nullptr ? "" : answer, answer == nullptr ? 0 : answer_size);
  if (answer != nullptr) library_.rados_buffer_free(answer);
  if (words != nullptr) library_.rados_buffer_free(words);
  RETURN_IF_ERROR(asked.status);
  return text;
}

absl::StatusOr<std::shared_ptr<Cluster>> Clusters::Get(const CephAccess& access) {
  Slot& slot = SlotOf(access);
  const int seen = slot.attempts.load();
  const MutexLock lock(slot.mutex);
  if (slot.cluster != nullptr && !slot.cluster->is_dead()) return slot.cluster;
  // Whoever waited while an attempt failed would only fail in the same way, later.
  if (slot.attempts.load() != seen && !slot.failure.ok()) return slot.failure;
  const bool just_hung = absl::IsUnavailable(slot.failure) &&
                         std::chrono::steady_clock::now() - slot.failed_at < kFailureLife;
  if (just_hung) return slot.failure;
  slot.cluster.reset();
  auto connected = Cluster::Connect(access);
  slot.failure = connected.status();
  slot.failed_at = std::chrono::steady_clock::now();
  ++slot.attempts;
  RETURN_IF_ERROR(connected.status());
  slot.cluster = *std::move(connected);
  return slot.cluster;
}

void Clusters::Forget(const CephAccess& access) {
  Slot& slot = SlotOf(access);
  const MutexLock lock(slot.mutex);
  slot.cluster.reset();
}

Clusters::Slot& Clusters::SlotOf(const CephAccess& access) {
  const MutexLock lock(mutex_);
  return slots_[access];
}

}  // namespace holdfast::rbd
