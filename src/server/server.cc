// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <absl/synchronization/mutex.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "core/version.h"
#include "link/cluster_api.h"
#include "link/credentials.h"
#include "os/capabilities.h"
#include "os/process_limits.h"
#include "os/release.h"
#include "server/dial_controller.h"
#include "server/event_sender.h"
#include "server/grpc_log.h"
#include "server/health.h"
#include "server/kubelet_registration.h"
#include "server/link_server.h"
#include "server/metrics.h"
#include "server/pool_kinds.h"
#include "server/recovery.h"
#include "server/server_state.h"
#include "server/services.h"
#include "server/socket.h"
#include "server/stop_guard.h"

namespace holdfast::server {
namespace {

constexpr std::chrono::milliseconds kShutdownGrace{500};
constexpr std::chrono::seconds kStopTime{25};  // kubelet's patience is 30 s
constexpr std::chrono::milliseconds kLastWords{500};
constexpr std::chrono::seconds kSearch{8};  // for problems, which a stop waits for
constexpr std::size_t kMostNamed = 20;      // calls, when they are not waited for any longer

// Gives up privileges and core dumps, and sets signals, the log of gRPC, memory and umask. Before
// any other thread exists. Errors as of os::KeepNeededCapabilities and os::ForbidCoreDumps.
absl::Status SetUpProcess() {
  std::signal(SIGPIPE, SIG_IGN);  // a CO that hangs up must not end the process
  RETURN_IF_ERROR(os::KeepNeededCapabilities());
  RETURN_IF_ERROR(os::ForbidCoreDumps());
  RouteGrpcLog();
  // Few large arenas instead of one per thread: calls come and go on many threads.
  mallopt(M_ARENA_MAX, 2);
  // Pieces of a transfer are taken from the heap: mapped and unmapped one by one, they cost a third
  // of its processor time. What is free is given back when a transfer ends.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 4 << 20);
  // Debian's build looks at every lock for cycles, which is for finding mistakes, not for serving.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::umask(0077);
  return absl::OkStatus();
}

// Whether anything is under way on the pool, which may then hang.
bool IsBusy(const pool::PoolInfo& pool, const ServerState& state) {
  return state.calls.BusyPools().contains(rpc::PoolKey(pool.name, pool.node)) ||
         state.reconciler.BusyPools().contains(pool.name) ||
         state.trimmer.BusyPools().contains(pool.name) ||
         state.pools.questions().Unanswered().contains(pool.name);
}

// What is done when stopping takes too long, right before the process ends. Children end with it.
// A thread that hangs in the kernel stays, and may yet complete one system call on its pool: a
// successor gets everything but the lock of that pool.
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

}  // namespace

Server::Server(const Config& config) : config_(config) {}

// The reconciler asks the controller's other parts.
Server::~Server() {
  if (state_ != nullptr) state_->reconciler.Stop();
}

absl::Status Server::Start() {
  RETURN_IF_ERROR(CheckConfig());
  RETURN_IF_ERROR(SetUpProcess());
  RETURN_IF_ERROR(TakePlace());
  RETURN_IF_ERROR(OpenPools(config_, directory_.directory.get(), *state_));
  return ServeCalls();
}

absl::Status Server::CheckConfig() {
  RETURN_IF_ERROR(ValidateConfig(config_));
  ASSIGN_OR_RETURN(socket_path_, SocketPath(config_.endpoint));
  if (config_.link_tls.empty()) return absl::OkStatus();
  return link::CheckTls({config_.link_tls});
}

// State directory and socket are this process's from here on.
absl::Status Server::TakePlace() {
  ASSIGN_OR_RETURN(directory_, TakeStateDirectory(config_.state_dir));
  ASSIGN_OR_RETURN(file_limit_, os::RaiseFileLimit());
  RETURN_IF_ERROR(PrepareSocket(socket_path_));
  ASSIGN_OR_RETURN(state::NodeState kept, state::NodeState::Open(directory_.directory.get()));
  state_ = std::make_unique<ServerState>(std::move(kept));
  ASSIGN_OR_RETURN(guard_, StopGuard::Start(kStopTime, [this] { GiveUp(config_, *state_); }));
  return absl::OkStatus();
}

absl::Status Server::ServeCalls() {
  services_ = std::make_unique<Services>(config_, *state_);
  linked_ = std::make_unique<LinkedController>(config_, *state_, *services_);
  const bool has_nodes = !config_.link_listen.empty();
  metrics_ = std::make_unique<Metrics>(
      Metrics::Sources{.pools = state_->pools,
                       .reconciler = state_->reconciler,
                       .transfers = services_->controller.transfers(),
                       .abnormal = state_->abnormal_volumes,
                       .trimmer = state_->trimmer,
                       .each_volume = config_.volume_metrics,
                       .linked = config_.link_controller.empty() ? nullptr : &state_->linked,
                       .hub = has_nodes ? &linked_->hub : nullptr,
                       .relay = has_nodes ? &linked_->transfers : nullptr});
  state_->freeze_observer = [this](auto lasted, bool held) { metrics_->CountFreeze(lasted, held); };
  state_->calls.SetObserver(
      [this](const rpc::CallRunner::Call& call, absl::StatusCode code, auto duration) {
        metrics_->CountCall(call.method, code, duration);
      });
  CallServer started = StartServer(config_, *services_, *linked_);
  if (started.server == nullptr) return Internal("cannot start the server for calls");
  calls_ = std::move(started.server);
  ASSIGN_OR_RETURN(os::UniqueFd socket, ListenOnSocket(socket_path_));
  name_ = std::make_unique<SocketName>(socket_path_);
  ASSIGN_OR_RETURN(acceptor_, Acceptor::Start(std::move(socket), file_limit_, kLocalReserve,
                                              std::move(started.connections)));
  ASSIGN_OR_RETURN(MonitoringEndpoints monitoring,
                   MonitoringEndpoints::Start(config_, *calls_, *metrics_));
  monitoring_ = std::make_unique<MonitoringEndpoints>(std::move(monitoring));
  LogInfo("holdfast {} serves {} on {} as {}", kVersion, config_.driver_name, socket_path_,
          config_.node_id.empty() ? "controller" : fmt::format("node '{}'", config_.node_id));
  return absl::OkStatus();
}

absl::Status Server::Recover() {
  RETURN_IF_ERROR(RecoverPools(state_->pools));
  RETURN_IF_ERROR(ServeNodes());
  state_->calls.SetReady();
  pool::AskElsewhere ask;
  if (!config_.link_listen.empty()) {
    ask = [this](const std::string& group, const VolumeId& decides) {
      return linked_->undecided_groups.IsKept(group, decides);
    };
  }
  state_->reconciler.Start(std::move(ask));
  if (config_.trim_interval.count() > 0) state_->trimmer.Start(config_.trim_interval);
  return absl::OkStatus();
}

absl::Status Server::ServeNodes() {
  if (config_.link_listen.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(link_server_, LinkServer::Start(config_.link_listen, {config_.link_tls},
                                                   file_limit_, linked_->hub, linked_->transfers));
  RETURN_IF_ERROR(linked_->undecided_groups.Start());
  return StartEvents();
}

absl::Status Server::StartEvents() {
  if (config_.events_api.empty()) return absl::OkStatus();
  const auto api = std::make_shared<link::ClusterApi>(config_.events_api);
  events_ = std::make_unique<EventSender>(
      config_.driver_name,
      EventApi{.get = [api](const std::string& path) { return api->Get(path); },
               .post = [api](const std::string& path,
                             const std::string& json) { return api->Post(path, json); }},
      [this] {
        return FindClusterProblems(services_->inventory, linked_->inventory,
                                   std::chrono::steady_clock::now() + kSearch);
      });
  return events_->Start();
}

absl::Status Server::Run() {
  if (!config_.link_controller.empty()) {
    node_link_ = DialController(config_, *state_, *services_);
  }
  LogReadiness();
  RETURN_IF_ERROR(RegisterWithKubelet());
  RetireIdleDevices();  // those that a killed process left
  os::ReleaseStartupPages();
  LogInfo("signal {}: finishing what is running", guard_->Wait());
  return absl::OkStatus();
}

void Server::LogReadiness() const {
  const absl::Status able = services_->identity.CheckHealth();
  if (able.ok()) {
    LogInfo("ready");
  } else {
    LogError("not ready: {}", MessageOf(able));
  }
}

absl::Status Server::RegisterWithKubelet() {
  // kubelet calls what is registered: its pods would write to the host's disk.
  if (config_.kubelet_registration_dir.empty() ||
      !MountsReachKubelet(config_.kubelet_registration_dir).ok()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(registration_,
                   KubeletRegistration::Start(config_.kubelet_registration_dir, config_.driver_name,
                                              socket_path_, file_limit_));
  return absl::OkStatus();
}

void Server::Stop() {
  state_->calls.Refuse();
  services_->metadata.Stop();
  linked_->metadata.Stop();
  services_->admin.Stop();
  linked_->admin.Stop();
  events_.reset();
  registration_.reset();
  node_link_.reset();
  state_->reconciler.Stop();
  state_->trimmer.Stop();
  state_->abnormal_volumes.Stop();
  state_->calls.AwaitIdle();
  state_->pools.questions().AwaitAnswers();
  acceptor_.reset();
  name_.reset();
  // A peer that is connected and silent would keep gRPC waiting for a ping of its own.
  calls_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  RetireIdleDevices();
  LogInfo("stopped");
  guard_->Stopped();
}

}  // namespace holdfast::server
