// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <absl/synchronization/mutex.h>
#include <fmt/ranges.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "controller/link_commands.h"
#include "controller/router.h"
#include "controller/service.h"
#include "core/text_file.h"
#include "core/version.h"
#include "fs/filesystem.h"
#include "identity/service.h"
#include "link/node_identity.h"
#include "link/node_link.h"
#include "node/service.h"
#include "os/capabilities.h"
#include "os/core_dump.h"
#include "os/file.h"
#include "os/file_limit.h"
#include "os/loop_device.h"
#include "os/release.h"
#include "os/startup_pages.h"
#include "pool/awaited_pool.h"
#include "pool/file_pool.h"
#include "pool/loop_label.h"
#include "pool/pool_directory.h"
#include "rbd/image_name.h"
#include "rbd/rbd_pool.h"
#include "server/acceptor.h"
#include "server/admin_service.h"
#include "server/grpc_connections.h"
#include "server/grpc_log.h"
#include "server/kubelet_registration.h"
#include "server/link_server.h"
#include "server/metrics.h"
#include "server/monitoring_endpoints.h"
#include "server/reconciler.h"
#include "server/socket.h"
#include "server/stop_guard.h"
#include "state/node_state.h"

namespace holdfast::server {
namespace {

constexpr std::chrono::seconds kStopTime{25};  // kubelet's patience is 30 s
constexpr std::chrono::milliseconds kLastWords{500};
constexpr std::size_t kMostNamed = 20;  // calls, when they are not waited for any longer
constexpr std::chrono::milliseconds kShutdownGrace{500};
// A CreateVolume may list every node of a large cluster as topology.
constexpr int kMaxMessageBytes = 64 << 20;

// How each kind of pool proves that a device is one of its volumes'. Also of kinds of which no pool
// is configured here: a volume of such a pool may still be mounted.
os::DeviceOwners OwnersOfDevices() {
  return os::DeviceOwners({pool::LoopProof(), rbd::RbdProof()});
}

// What the services work on; outlives the gRPC server.
struct ServerState {
  explicit ServerState(state::NodeState kept) : node(std::move(kept)) {}
  pool::Pools pools{OwnersOfDevices()};
  state::NodeState node;
  KeyLock volume_locks;
  rpc::CallRunner calls;
  Reconciler reconciler{pools, node, volume_locks};
};

identity::Needs NeedsOf(const Config& config) {
  const bool is_node = config.role != Role::kController;
  const auto is_file = [](const PoolConfig& pool) { return pool.kind == "file"; };
  return {.mounts = is_node, .loops = is_node && std::ranges::any_of(config.pools, is_file)};
}

struct Services {
  Services(const Config& config, ServerState& parts)
      : identity(config.driver_name, parts.pools, parts.calls, NeedsOf(config)),
        controller({config.driver_name, config.node_id, config.attach, parts.pools, parts.node,
                    parts.volume_locks, parts.calls}),
        node({config.driver_name, config.node_id, config.max_volumes, parts.pools, parts.node,
              parts.volume_locks, parts.calls, config.topology}),
        admin(parts.pools, parts.node.stages, parts.reconciler, parts.calls) {}
  identity::Service identity;
  controller::Service controller;
  node::Service node;
  AdminService admin;
};

std::unique_ptr<link::NodeIdentity> MakeNodeIdentity(const Config& config) {
  if (config.link_token_keys.empty()) return std::make_unique<link::CertificateIdentity>();
  return std::make_unique<link::TokenIdentity>(
      config.link_token_keys,
      link::TokenPolicy{config.link_token_audience, config.link_token_subject});
}

// A controller whose volumes are on nodes, or in pools that need none.
struct LinkedController {
  LinkedController(const Config& config, ServerState& parts, controller::Service& own)
      : identity(MakeNodeIdentity(config)),
        hub(config.driver_name, *identity),
        router({config.driver_name, config.attach, hub, parts.pools, own, parts.volume_locks,
                parts.calls}) {}
  const std::unique_ptr<link::NodeIdentity> identity;
  link::Hub hub;
  controller::Router router;
};

absl::StatusOr<os::UniqueFd> OpenStateDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return OsError(error.value(), fmt::format("make state directory '{}'", path));
  return os::OpenDirectory(path);
}

// How long a predecessor that was killed may keep its lock: a child that it was just starting has
// copies of its descriptors until it has closed them (os/child.cc).
constexpr auto kLockPatience = std::chrono::seconds(3);
constexpr auto kLockInterval = std::chrono::milliseconds(10);

absl::StatusOr<os::UniqueFd> LockState(int directory_fd) {
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  for (;;) {
    auto lock = os::LockDirectory(directory_fd, "lock");
    if (!absl::IsFailedPrecondition(lock.status()) || std::chrono::steady_clock::now() >= end) {
      return lock;
    }
    std::this_thread::sleep_for(kLockInterval);
  }
}

// The pool, as soon as its disk is there. Nothing of the disk is touched here.
absl::StatusOr<std::unique_ptr<pool::AwaitedPool>> AwaitFilePool(const PoolConfig& config,
                                                                 const rbd::Process& process) {
  ASSIGN_OR_RETURN(os::UniqueFd own, os::OpenDirectoryAt(process.state_directory_fd, "."));
  const auto state = std::make_shared<os::UniqueFd>(std::move(own));
  pool::PoolInfo known{
      .id = pool::PoolDirectory::KnownId(config.name, state->get()).value_or(std::string()),
      .name = config.name,
      .kind = config.kind,
      .location = config.location,
      .node = process.node_id,
      .default_filesystem = config.default_filesystem};
  const std::string node = process.node_id;
  return std::make_unique<pool::AwaitedPool>(
      std::move(known),
      pool::AwaitedPool::Source{
          .open = [config, node, state](bool first) -> absl::StatusOr<std::unique_ptr<pool::Pool>> {
            return pool::FilePool::Open(config, node, state->get(), /*may_make=*/first);
          },
          .detach = pool::ImageDevices::UnmapAbsent});
}

// A pool that is not there does not keep the others from their pods. Only where no pool can be
// served, and none ever was, there is nothing to wait for: a new pool is made by a start alone.
absl::Status WaitForPools(const std::vector<pool::AwaitedPool*>& awaited, std::size_t pools) {
  absl::Status missing;
  std::size_t never_seen = 0;
  for (pool::AwaitedPool* const pool : awaited) {
    const absl::Status opened = pool->WaitUntilOpened();
    if (!opened.ok() && !absl::IsNotFound(opened)) return opened;
    if (!opened.ok()) ++never_seen;
    missing.Update(opened);
  }
  if (never_seen == 0 || never_seen < pools) return absl::OkStatus();
  return WithCode(missing, absl::StatusCode::kFailedPrecondition);
}

absl::Status OpenPools(const Config& config, int state_directory_fd, ServerState& parts) {
  const rbd::Process process{.node_id = config.node_id,
                             .is_controller = config.role != Role::kNode,
                             .has_devices = config.role != Role::kController,
                             .attach = config.attach,
                             .state_directory_fd = state_directory_fd,
                             .boot_id = parts.node.stages.boot_id(),
                             .undo_files = parts.node.undo};
  const auto clusters = std::make_shared<rbd::Clusters>();
  std::vector<pool::AwaitedPool*> awaited;
  for (const PoolConfig& pool : config.pools) {
    if (fs::FindFilesystem(pool.default_filesystem) == nullptr) {
      return InvalidArgument("pool '{}': filesystem '{}' is not supported", pool.name,
                             pool.default_filesystem);
    }
    if (pool.kind == "rbd") {
      ASSIGN_OR_RETURN(auto opened, rbd::RbdPool::Open(pool, process, clusters));
      RETURN_IF_ERROR(parts.pools.Add(std::move(opened)));
      continue;
    }
    ASSIGN_OR_RETURN(auto file_pool, AwaitFilePool(pool, process));
    awaited.push_back(file_pool.get());
    RETURN_IF_ERROR(parts.pools.Add(std::move(file_pool)));
  }
  return WaitForPools(awaited, config.pools.size());
}

absl::Status RecoverPools(const pool::Pools& pools) {
  for (pool::Pool* const pool : pools.all()) {
    RETURN_IF_ERROR(Annotate(pool->Recover(), fmt::format("pool '{}'", pool->info().name)));
  }
  return absl::OkStatus();
}

// A server, and the way by which it gets connections.
struct CallServer {
  std::unique_ptr<grpc::Server> server;
  Acceptor::Take connections;
};

CallServer StartServer(const Config& config, Services& services, LinkedController& linked) {
  grpc::ServerBuilder builder;
  Acceptor::Take connections = GiveConnectionsTo(builder, grpc::InsecureServerCredentials());
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 16);
  builder.RegisterService(&services.identity);
  builder.RegisterService(&services.admin);
  if (!config.link_listen.empty()) {
    builder.RegisterService(&linked.router);
  } else if (config.role != Role::kNode) {
    builder.RegisterService(&services.controller);
  }
  if (config.role != Role::kController) builder.RegisterService(&services.node);
  return {builder.BuildAndStart(), std::move(connections)};
}

// Read anew for every connection: kubelet replaces the file before the token expires.
std::string ReadToken(const std::string& path) {
  if (path.empty()) return {};
  auto token = ReadTextFile(path);
  if (token.ok()) return *std::move(token);
  LogWarning("the link's token cannot be read: {}", MessageOf(token.status()));
  return {};
}

std::unique_ptr<link::NodeLink> DialController(const Config& config, const ServerState& parts,
                                               controller::Service& service) {
  return std::make_unique<link::NodeLink>(
      config.link_controller, link::ChannelTls({config.link_tls}),
      link::NodeWork{
          .describe =
              [&] {
                link::v1::Register self =
                    controller::DescribeNode(config.driver_name, config.node_id, parts.pools);
                self.set_token(ReadToken(config.link_token));
                return self;
              },
          .name_volumes = [&](const auto& send) { controller::NameVolumes(parts.pools, send); },
          .measure = [&] { return controller::MeasurePools(parts.pools); },
          .carry_out =
              [&](const link::v1::Command& command) {
                return controller::Execute(service, command);
              },
          .changes_space = controller::ChangesSpace,
          .count_pools = [&] { return controller::CountListable(parts.pools); },
      });
}

// Whether anything is under way on the pool, which may then hang.
bool IsBusy(const pool::PoolInfo& pool, const ServerState& parts) {
  return parts.calls.BusyPools().contains(rpc::PoolKey(pool.name, pool.node)) ||
         parts.reconciler.BusyPools().contains(pool.name) ||
         parts.pools.questions().Unanswered().contains(pool.name);
}

// What is done when stopping takes too long, right before the process ends. Children end with it.
// A thread that hangs in the kernel stays, and may yet complete one system call on its pool: a
// successor gets everything but the lock of that pool.
void GiveUp(const Config& config, const ServerState& parts) {
  const std::vector<std::string> running = parts.calls.Running();
  for (std::size_t i = 0; i < std::min(running.size(), kMostNamed); ++i) LogError("{}", running[i]);
  std::vector<std::string> busy;
  for (const PoolConfig& pool : config.pools) {
    const auto opened = parts.pools.Find(pool.name);
    const bool starting = !opened.ok() || !parts.calls.ready();
    if (starting || IsBusy((*opened)->info(), parts)) busy.push_back(pool.location);
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

absl::Status Serve(const Config& config) {
  RETURN_IF_ERROR(ValidateConfig(config));
  ASSIGN_OR_RETURN(const std::string socket_path, SocketPath(config.endpoint));
  if (!config.link_tls.empty()) RETURN_IF_ERROR(link::CheckTls({config.link_tls}));
  std::signal(SIGPIPE, SIG_IGN);  // a CO that hangs up must not end the process
  RETURN_IF_ERROR(os::KeepNeededCapabilities());
  RETURN_IF_ERROR(os::ForbidCoreDumps());
  RouteGrpcLog();
  // Few large arenas instead of one per thread: calls come and go on many threads.
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // fixed, or one large buffer would make all stay for ever
  // Debian's build looks at every lock for cycles, which is for finding mistakes, not for serving.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::umask(0077);
  ASSIGN_OR_RETURN(const os::UniqueFd state, OpenStateDirectory(config.state_dir));
  const auto lock = LockState(state.get());
  RETURN_IF_ERROR(Annotate(lock.status(), fmt::format("state directory '{}'", config.state_dir)));
  ASSIGN_OR_RETURN(const int file_limit, os::RaiseFileLimit());
  RETURN_IF_ERROR(PrepareSocket(socket_path));
  ASSIGN_OR_RETURN(state::NodeState kept, state::NodeState::Open(state.get()));
  ServerState parts(std::move(kept));
  ASSIGN_OR_RETURN(const auto guard, StopGuard::Start(kStopTime, [&] { GiveUp(config, parts); }));
  RETURN_IF_ERROR(OpenPools(config, state.get(), parts));
  Services services(config, parts);
  LinkedController linked(config, parts, services.controller);
  Metrics metrics(parts.pools, parts.reconciler,
                  config.link_listen.empty() ? nullptr : &linked.hub);
  parts.calls.SetObserver([&](const rpc::CallRunner::Call& call, absl::StatusCode code,
                              auto duration) { metrics.CountCall(call.method, code, duration); });
  const auto [server, connections] = StartServer(config, services, linked);
  if (server == nullptr) return Internal("cannot start the server for calls");
  ASSIGN_OR_RETURN(os::UniqueFd socket, ListenOnSocket(socket_path));
  auto name = std::make_unique<SocketName>(socket_path);
  ASSIGN_OR_RETURN(auto acceptor,
                   Acceptor::Start(std::move(socket), file_limit, kLocalReserve, connections));
  ASSIGN_OR_RETURN(const MonitoringEndpoints observation,
                   MonitoringEndpoints::Start(config, *server, metrics));
  LogInfo("holdfast {} serves {} on {} as {}", kVersion, config.driver_name, socket_path,
          config.node_id.empty() ? "controller" : fmt::format("node '{}'", config.node_id));
  RETURN_IF_ERROR(RecoverPools(parts.pools));
  std::unique_ptr<LinkServer> link_server;
  if (!config.link_listen.empty()) {
    ASSIGN_OR_RETURN(link_server, LinkServer::Start(config.link_listen, {config.link_tls},
                                                    file_limit, linked.hub));
  }
  parts.calls.SetReady();
  parts.reconciler.Start();
  std::unique_ptr<link::NodeLink> node_link;
  if (!config.link_controller.empty()) {
    node_link = DialController(config, parts, services.controller);
  }
  const absl::Status able = services.identity.CheckHealth();
  if (able.ok()) {
    LogInfo("ready");
  } else {
    LogError("not ready: {}", MessageOf(able));
  }
  std::unique_ptr<KubeletRegistration> registration;
  if (!config.kubelet_registration_dir.empty()) {
    ASSIGN_OR_RETURN(registration,
                     KubeletRegistration::Start(config.kubelet_registration_dir, config.driver_name,
                                                socket_path, file_limit));
  }
  os::RetireIdleLoops();  // those that a killed process left
  os::ReleaseStartupPages();
  LogInfo("signal {}: finishing what is running", guard->Wait());
  parts.calls.Refuse();
  registration.reset();
  node_link.reset();
  parts.reconciler.Stop();
  parts.calls.AwaitIdle();
  parts.pools.questions().AwaitAnswers();
  acceptor.reset();
  name.reset();
  // A peer that is connected and silent would keep gRPC waiting for a ping of its own.
  server->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  os::RetireIdleLoops();
  LogInfo("stopped");
  return absl::OkStatus();
}

}  // namespace holdfast::server
