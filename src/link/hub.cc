// SPDX-License-Identifier: Apache-2.0
#include "link/hub.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "core/message_text.h"
#include "core/volume_id.h"

namespace holdfast::link {
namespace {

// No command takes longer, so none is lost with a stream that is given this time to end.
constexpr std::chrono::seconds kLastCommands{60};
// Of a node's version, which is kept.
constexpr std::size_t kMaxVersion = 64;

using Duration = std::chrono::nanoseconds;

template <typename TimePoint>
Duration TimeLeft(TimePoint end) {
  return end - TimePoint::clock::now();
}

// Ends a stream that no thread reads.
class Refusal final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Refusal() { Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams")); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Hub::LinkService::Connect(
    grpc::CallbackServerContext* context) {
  if (hub_.watch_ != nullptr && !hub_.watch_->StreamStarts(context->peer())) {
    hub_.watch_->StreamIsOver(context->peer());
    return new Refusal();
  }
  const std::shared_ptr<Session> session =
      Session::Start(hub_, CertificateNames(*context->auth_context()), context->peer());
  bool stopped = false;
  {
    const MutexLock lock(hub_.mutex_);
    hub_.sessions_.emplace(session.get(), session);
    stopped = hub_.stopped_;
  }
  if (stopped) session->End(Unavailable("the controller is stopping"));
  return session.get();
}

Hub::Hub(std::string driver_name, NodeIdentity& identity, HubTimes times,
         std::vector<LostPool> lost)
    : driver_name_(std::move(driver_name)),
      identity_(identity),
      times_(times),
      lost_pools_(std::move(lost)),
      settled_at_(started_at_ + times_.settle) {}

Hub::~Hub() { Stop(); }

bool Hub::WaitUntilSettled(Deadline deadline) {
  MutexLock lock(mutex_);
  // Nodes that come move its end.
  while (!stopped_ && TimeLeft(deadline) > Duration::zero() &&
         TimeLeft(settled_at_) > Duration::zero()) {
    changed_.WaitUntil(lock, std::min(deadline, settled_at_));
  }
  return TimeLeft(settled_at_) <= Duration::zero();
}

bool Hub::IsSettled() const {
  const MutexLock lock(mutex_);
  return TimeLeft(settled_at_) <= Duration::zero();
}

void Hub::PostponeSettled() {
  const auto now = std::chrono::steady_clock::now();
  if (now >= settled_at_) return;
  settled_at_ = std::clamp(now + times_.settle_quiet_period, settled_at_,
                           started_at_ + times_.longest_settle);
}

bool Hub::WaitForMoreThan(std::size_t nodes, Deadline deadline) {
  MutexLock lock(mutex_);
  const auto limit =
      std::min<Duration>({TimeLeft(deadline), TimeLeft(settled_at_), times_.reconnect_grace});
  changed_.WaitFor(lock, limit, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopped_ || nodes_.size() > nodes;
  });
  return nodes_.size() > nodes;
}

std::vector<std::string> Hub::Missing() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> missing;
  for (const auto& [name, since] : lost_) {
    const auto away = std::chrono::steady_clock::now() - since;
    if (away < times_.lost_node_retention) missing.push_back(name);
  }
  return missing;
}

absl::StatusOr<v1::Result> Hub::Call(const std::string& node, const v1::Command& command,
                                     Deadline deadline) {
  // A stream may end, because a newer one has replaced it, just before the command is sent.
  while (const std::shared_ptr<Session> session = AwaitSession(node, deadline)) {
    if (auto answer = session->Call(command, deadline)) return *std::move(answer);
    if (TimeLeft(deadline) <= Duration::zero()) break;
  }
  return Unavailable("node '{}' is not connected; its volumes can be reached when it is back",
                     node);
}

bool Hub::WaitFor(const std::string& node, Deadline deadline) {
  return AwaitSession(node, deadline) != nullptr;
}

std::shared_ptr<Session> Hub::AwaitSession(const std::string& node, Deadline deadline) {
  MutexLock lock(mutex_);
  const auto limit = std::min<Duration>(TimeLeft(deadline), times_.reconnect_grace);
  changed_.WaitFor(lock, limit, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopped_ || nodes_.contains(node);
  });
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : found->second.session;
}

std::vector<NodeView> Hub::Nodes() const {
  const MutexLock lock(mutex_);
  std::vector<NodeView> views;
  for (const auto& [name, node] : nodes_) views.push_back({name, node.pools, node.version});
  return views;
}

std::vector<NodeView> Hub::Nodes(const std::vector<std::string>& names) const {
  const MutexLock lock(mutex_);
  std::vector<NodeView> views;
  for (const std::string& name : names) {
    const auto node = nodes_.find(name);
    if (node != nodes_.end()) views.push_back({name, node->second.pools, node->second.version});
  }
  return views;
}

std::size_t Hub::CountNodes() const {
  const MutexLock lock(mutex_);
  return nodes_.size();
}

bool Hub::IsLost(const std::string& node, const std::string& pool) const {
  const LostPool* const lost = lost_pools_.Find(node, pool);
  if (lost == nullptr) return false;
  const MutexLock lock(mutex_);
  const auto connected = nodes_.find(node);
  if (connected == nodes_.end()) return true;
  const PoolIds ids = IdsOf(*connected->second.pools);
  const auto id = ids.find(pool);
  return id == ids.end() || id->second.empty() || id->second == lost->id;
}

std::map<absl::StatusCode, std::uint64_t> Hub::Refusals() const {
  const MutexLock lock(mutex_);
  return refusals_;
}

void Hub::CountRefusal(absl::StatusCode code) {
  const MutexLock lock(mutex_);
  ++refusals_[code];
}

void Hub::EndOverdue() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Session>> all;
  {
    const MutexLock lock(mutex_);
    ForgetGone();
    for (const auto& [raw, weak] : sessions_) {
      if (auto session = weak.lock()) all.push_back(std::move(session));
    }
  }
  for (const auto& session : all) {
    const auto age = now - session->started_at();
    if (!session->proved()) {
      if (age > times_.introduction) {
        session->End(
            MakeStatus(absl::StatusCode::kDeadlineExceeded, "the node has not said its name"));
      }
      continue;
    }
    if (age > times_.max_stream_age) {
      session->EndWhenIdle(Unavailable("the link is to be opened again: it is {} s old",
                                       std::chrono::floor<std::chrono::seconds>(age).count()),
                           now + kLastCommands);
    }
    session->EndIfOverdue(now);
  }
}

void Hub::Stop() {
  std::vector<std::shared_ptr<Session>> all;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    for (const auto& [raw, weak] : sessions_) {
      if (auto session = weak.lock()) all.push_back(std::move(session));
    }
    changed_.NotifyAll();
  }
  for (const auto& session : all) session->End(Unavailable("the controller is stopping"));
}

absl::Status Hub::OnRegister(Session& session, const v1::Register& message) {
  if (message.protocol() != kProtocol) {
    return FailedPrecondition(
        "protocol {} is not spoken here, {} is: upgrade the {}, whose software is older",
        message.protocol(), kProtocol, message.protocol() < kProtocol ? "node" : "controller");
  }
  if (message.driver() != driver_name_) {
    return InvalidArgument("this is the controller of '{}', not of '{}'", driver_name_,
                           message.driver());
  }
  RETURN_IF_ERROR(ValidateNodeId(message.node()));
  RETURN_IF_ERROR(identity_.Check(session.peer_names(), message));
  Arrival arrival{.node = message.node(),
                  .pools = message.pools(),
                  .version = MessageText(message.version().substr(0, kMaxVersion)),
                  .volumes = {},
                  .snapshots = {},
                  .groups = {},
                  .renews = message.renews()};
  RETURN_IF_ERROR(CheckPools(arrival.pools));
  RETURN_IF_ERROR(lost_pools_.RequireNone(message.node(), arrival.pools));
  const PoolIds pools = IdsOf(arrival.pools);
  arrival.volumes = NamedVolumes(pools);
  ASSIGN_OR_RETURN(const PoolIds snapshot_spaces, SnapshotNameSpaces(pools));
  arrival.snapshots = NamedVolumes(snapshot_spaces);
  arrival.groups = NamedVolumes(snapshot_spaces);
  session.set_node(message.node());
  std::shared_ptr<Session> other;
  {
    const MutexLock lock(mutex_);
    if (!sessions_.contains(&session)) return Unavailable("the stream is over");
    RETURN_IF_ERROR(RequireSamePools(message.node(), pools));
    other = KeepArrival(session, std::move(arrival));
  }
  if (other != nullptr) other->End(Aborted("node '{}' registers again", message.node()));
  return absl::OkStatus();
}

// Keeps one registration for each node, so that unproved peers cannot fill the memory. The
// session that gives way to this one, if there is one.
std::shared_ptr<Session> Hub::KeepArrival(Session& session, Arrival arrival) {
  std::shared_ptr<Session> other;
  const auto same_node = std::ranges::find_if(
      registered_, [&](const auto& registered) { return registered.second.node == arrival.node; });
  if (same_node != registered_.end()) {
    other = sessions_[same_node->first].lock();
    registered_.erase(same_node);
  }
  registered_.insert_or_assign(&session, std::move(arrival));
  return other;
}

absl::Status Hub::OnVolumes(Session& session, const v1::Volumes& part) {
  const MutexLock lock(mutex_);
  const auto registered = registered_.find(&session);
  if (registered == registered_.end()) return absl::OkStatus();  // it has ended
  RETURN_IF_ERROR(registered->second.volumes.Add(part.volumes()));
  RETURN_IF_ERROR(registered->second.snapshots.Add(part.snapshots()));
  return registered->second.groups.Add(GroupsIn(part.snapshots()));
}

// A second node of one name, or one whose disk is another now, would answer for volumes that it
// does not have, and "there is none" means deleted.
absl::Status Hub::RequireSamePools(const std::string& node, const PoolIds& pools) const {
  const auto before = pool_ids_.find(node);
  if (before == pool_ids_.end()) return absl::OkStatus();
  PoolIds all = before->second;
  for (const auto& [name, id] : pools) {
    const std::string& known = all.emplace(name, id).first->second;
    const LostPool* const lost = lost_pools_.Find(node, name);  // its place may be taken
    if (known == id || id.empty() || (lost != nullptr && lost->id == known)) continue;
    return FailedPrecondition(
        "pool '{}' of node '{}' is {}, but it was {}: two nodes of one name, or another disk? If "
        "it is meant, restart the controller",
        name, node, id, known);
  }
  if (all.size() <= kMaxPoolsOfNode) return absl::OkStatus();
  return ResourceExhausted(
      "node '{}' has had more than {} pools since the controller started; restart it if they are "
      "meant",
      node, kMaxPoolsOfNode);
}

void Hub::ForgetGone() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(lost_, [&](const auto& lost) {
    const bool gone = now - lost.second >= times_.lost_node_retention;
    if (gone) names_.Forget(lost.first);
    if (gone) snapshot_names_.Forget(lost.first);
    if (gone) group_names_.Forget(lost.first);
    return gone;
  });
}

void Hub::OnProved(const std::shared_ptr<Session>& session) {
  std::shared_ptr<Session> older;
  std::vector<VolumeId> doubles;
  bool renews = false;
  {
    const MutexLock lock(mutex_);
    const auto registered = registered_.find(session.get());
    if (registered == registered_.end()) return;  // it has ended
    renews = registered->second.renews;
    Node& node = nodes_[session->node()];
    older = std::exchange(node.session, session);
    node.pools = std::make_shared<const v1::Pools>(std::move(registered->second.pools));
    node.version = std::move(registered->second.version);
    lost_.erase(session->node());
    for (const auto& [name, id] : IdsOf(*node.pools)) {
      if (!id.empty()) pool_ids_[session->node()].insert_or_assign(name, id);
    }
    doubles = names_.Replace(session->node(), std::move(registered->second.volumes),
                             session->started_at());
    (void)snapshot_names_.Replace(session->node(), std::move(registered->second.snapshots),
                                  session->started_at());
    (void)group_names_.Replace(session->node(), std::move(registered->second.groups),
                               session->started_at());
    registered_.erase(registered);
    PostponeSettled();
    changed_.NotifyAll();
  }
  if (watch_ != nullptr) watch_->Proved(session->peer());
  if (!doubles.empty()) {
    LogWarning(
        "node '{}' has {} volumes, '{}' among them, of names that other volumes have as well: one "
        "of each two may be left over",
        session->node(), doubles.size(), doubles.front().ToString());
  }
  if (older != nullptr && renews) {
    LogInfo("node '{}' has renewed its link, from {}", session->node(), session->peer());
    return older->EndWhenIdle(Aborted("node '{}' has renewed its link", older->node()),
                              std::chrono::steady_clock::now() + kLastCommands);
  }
  LogInfo("node '{}' is connected from {}", session->node(), session->peer());
  if (older != nullptr) {
    LogWarning("node '{}' was connected from {}: that link is ended", older->node(), older->peer());
    older->End(Aborted("node '{}' has connected again", older->node()));
  }
}

absl::Status Hub::OnPools(Session& session, const v1::Pools& pools) {
  v1::Pools told = pools;
  RETURN_IF_ERROR(CheckPools(told));
  RETURN_IF_ERROR(lost_pools_.RequireNone(session.node(), told));
  const MutexLock lock(mutex_);
  const auto node = nodes_.find(session.node());
  if (node == nodes_.end() || node->second.session.get() != &session) return absl::OkStatus();
  if (IdsOf(told) != IdsOf(*node->second.pools)) {
    return FailedPrecondition("the pools are others than those that were registered");
  }
  node->second.pools = std::make_shared<const v1::Pools>(std::move(told));
  return absl::OkStatus();
}

void Hub::OnMessage(const Session& session) {
  if (watch_ != nullptr) watch_->MessageCame(session.peer());
}

void Hub::OnGone(const Session& session) {
  if (watch_ != nullptr) watch_->StreamIsOver(session.peer());
}

void Hub::OnEnd(Session& session, const absl::Status& why) {
  const std::string name = session.node();
  bool was_in_use = false;
  {
    const MutexLock lock(mutex_);
    if (!session.proved()) ++refusals_[why.code()];
    sessions_.erase(&session);
    registered_.erase(&session);
    const auto node = nodes_.find(name);
    was_in_use = node != nodes_.end() && node->second.session.get() == &session;
    if (was_in_use) {
      nodes_.erase(node);
      lost_[name] = std::chrono::steady_clock::now();
    }
  }
  const bool proved = session.proved();
  const std::optional<std::uint64_t> skipped = proved ? 0 : refusal_lines_.Take();
  if (!skipped) return;
  LogMessage(proved && !was_in_use ? LogLevel::kInfo : LogLevel::kWarning,
             fmt::format("the link to {} is over: {}{}",
                         name.empty() ? session.peer() : fmt::format("node '{}'", name),
                         MessageOf(why), LogThrottle::Note(*skipped)));
}

}  // namespace holdfast::link
