// SPDX-License-Identifier: Apache-2.0
// Tells people of problems by events of the Kubernetes objects concerned.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "server/cluster_problems.h"

namespace holdfast::server {

// The requests to the API server: ClusterApi's, in tests others.
struct EventApi {
  std::function<absl::StatusOr<std::string>(const std::string& path)> get;
  std::function<absl::Status(const std::string& path, const std::string& json)> post;
};

// Looks for problems again and again, and sends an event of each new one, and again each hour while
// it lasts: the API server forgets events after about that time. Thread-safe.
class EventSender final {
 public:
  using Clock = std::chrono::steady_clock;
  using Find = std::function<std::vector<ClusterProblem>()>;
  static constexpr std::chrono::minutes kInterval{2};
  static constexpr std::chrono::hours kRepeat{1};
  // In one round; the others follow in the next ones.
  static constexpr int kMostEvents = 50;

  // `reporter` is who sends them: the driver's name.
  EventSender(std::string reporter, EventApi api, Find find);
  ~EventSender() { Stop(); }

  // Begins to look for problems. INTERNAL if the system gives no thread.
  [[nodiscard]] absl::Status Start();
  // Waits for the call that is under way.
  void Stop();

  // One round. Not beside Start.
  void Round(Clock::time_point now = Clock::now());

 private:
  void Run();
  bool IsEnding();
  absl::Status Send(const ClusterProblem& problem);
  absl::StatusOr<std::string> UidOf(const ClusterProblem& problem) const;

  const std::string reporter_;
  const EventApi api_;
  const Find find_;
  std::map<ClusterProblem, Clock::time_point> sent_;  // those that last
  absl::Status last_;                                 // of the API server

  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace holdfast::server
