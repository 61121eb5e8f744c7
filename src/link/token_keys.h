// SPDX-License-Identifier: Apache-2.0
// The keys with which the cluster signs tokens, fetched from where it publishes them.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "core/mutex.h"
#include "core/status.h"

namespace holdfast::link {

// Thread-safe. Fetches on a thread of its own, at once and then every few minutes: the cluster may
// get new keys, and may have none to give at the moment.
class TokenKeys final {
 public:
  // An https URL, fetched as a pod does: with its ServiceAccount's token and the cluster's CA, read
  // again each time. Or the absolute path of a file.
  explicit TokenKeys(std::string source);
  TokenKeys(const TokenKeys&) = delete;
  TokenKeys& operator=(const TokenKeys&) = delete;
  ~TokenKeys();

  // The JSON Web Key Set fetched last; never waits. UNAVAILABLE with the reason until there is one.
  [[nodiscard]] absl::StatusOr<std::string> Current() const;

  // A key is not among them: fetch soon, though not more often than every few seconds.
  void FetchSoon();

 private:
  void Run();

  const std::string source_;
  mutable Mutex mutex_;
  CondVar changed_;
  absl::StatusOr<std::string> keys_ ABSL_GUARDED_BY(mutex_);
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::link
