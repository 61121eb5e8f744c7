// SPDX-License-Identifier: Apache-2.0
#include "server/late_stop.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "os/release.h"
#include "server/kubelet_registration.h"
#include "server/socket.h"

namespace holdfast::server {
namespace {

constexpr std::chrono::milliseconds kLastWords{500};
constexpr std::size_t kMostNamed = 20;  // calls, when they are not waited for any longer

// Whether anything is under way on the pool, which may then hang.
bool IsBusy(const pool::PoolInfo& pool, const ServerState& state) {
  return state.calls.BusyPools().contains(rpc::PoolKey(pool.name, pool.node)) ||
         state.reconciler.BusyPools().contains(pool.name) ||
         state.pools.questions().Unanswered().contains(pool.name);
}

}  // namespace

void GiveUp(const Config& config, const ServerState& state) {
  const std::vector<std::string> running = state.calls.Running();
  for (std::size_t i = 0; i < std::min(running.size(), kMostNamed); ++i) LogError("{}", running[i]);
  std::vector<std::string> busy;
  for (const PoolConfig& pool : config.pools) {
    const auto opened = state.pools.Find(pool.name);
    const bool starting = !opened.ok() || !state.calls.ready();
    if (starting || IsBusy((*opened)->info(), state)) busy.push_back(pool.location);
  }
  LogError("stopping has taken {} s: ending with {} calls under way; not done with: {}",
           kStopTime.count(), running.size(),
           busy.empty() ? "no pool" : fmt::format("{}", fmt::join(busy, ", ")));
  FlushLog(kLastWords);
  os::ReleaseFilesAndSockets(busy);
  const auto socket = SocketPath(config.endpoint);
  if (socket.ok()) RemoveDeadSocket(*socket);
  if (!config.kubelet_registration_dir.empty()) {
    RemoveDeadSocket(
        KubeletRegistration::SocketIn(config.kubelet_registration_dir, config.driver_name));
  }
}

}  // namespace holdfast::server
