// SPDX-License-Identifier: Apache-2.0
#include "link/hub.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "core/volume_id.h"

namespace holdfast::link {
namespace {

constexpr std::chrono::seconds kRegisterTime{10};
// A node that lost its link is back within this, unless it is gone.
constexpr std::chrono::seconds kReturnTime{5};
// After a start every node that is alive is back within this, twice its longest pause; or, where
// thousands come, when none has come for longer than that pause.
constexpr std::chrono::seconds kSettleTime{10};
constexpr std::chrono::seconds kQuietTime{6};
constexpr std::chrono::seconds kLongestSettleTime{60};
// A node that is away for longer has left the cluster, or somebody looks after it.
constexpr std::chrono::minutes kMourning{10};

using Duration = std::chrono::nanoseconds;

template <typename TimePoint>
Duration TimeLeft(TimePoint end) {
  return end - TimePoint::clock::now();
}

void AddProperties(const grpc::AuthContext& context, const char* property,
                   std::vector<std::string>& names) {
  for (const grpc::string_ref& value : context.FindPropertyValues(property)) {
    names.emplace_back(value.data(), value.size());
  }
}

std::vector<std::string> NamesOf(const grpc::AuthContext& context) {
  std::vector<std::string> names;
  if (!context.IsPeerAuthenticated()) return names;
  AddProperties(context, GRPC_X509_CN_PROPERTY_NAME, names);
  AddProperties(context, GRPC_X509_SAN_PROPERTY_NAME, names);
  return names;
}

}  // namespace

grpc::ServerBidiReactor<v1::FromNode, v1::ToNode>* Hub::LinkService::Connect(
    grpc::CallbackServerContext* context) {
  const std::shared_ptr<Session> session =
      Session::Start(hub_, NamesOf(*context->auth_context()), context->peer());
  bool stopped = false;
  {
    const std::lock_guard lock(hub_.mutex_);
    hub_.sessions_.emplace(session.get(), session);
    stopped = hub_.stopped_;
  }
  if (stopped) session->End(Unavailable("the controller is stopping"));
  return session.get();
}

Hub::Hub(std::string driver_name, NodeIdentity& identity)
    : driver_name_(std::move(driver_name)),
      identity_(identity),
      settled_at_(started_at_ + kSettleTime) {}

Hub::~Hub() { Stop(); }

bool Hub::WaitUntilSettled(Deadline deadline) {
  std::unique_lock lock(mutex_);
  // Nodes that come move its end.
  while (!stopped_ && TimeLeft(deadline) > Duration::zero() &&
         TimeLeft(settled_at_) > Duration::zero()) {
    changed_.wait_for(lock, std::min<Duration>(TimeLeft(deadline), TimeLeft(settled_at_)));
  }
  return TimeLeft(settled_at_) <= Duration::zero();
}

bool Hub::IsSettled() const {
  const std::lock_guard lock(mutex_);
  return TimeLeft(settled_at_) <= Duration::zero();
}

void Hub::ExpectNode() {
  const std::lock_guard lock(mutex_);
  PostponeSettled();
}

void Hub::PostponeSettled() {
  const auto now = std::chrono::steady_clock::now();
  if (now >= settled_at_) return;
  settled_at_ = std::clamp(now + kQuietTime, settled_at_, started_at_ + kLongestSettleTime);
}

bool Hub::WaitForMoreThan(std::size_t nodes, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto limit = std::min<Duration>({TimeLeft(deadline), TimeLeft(settled_at_), kReturnTime});
  changed_.wait_for(lock, limit, [&] { return stopped_ || nodes_.size() > nodes; });
  return nodes_.size() > nodes;
}

std::vector<std::string> Hub::Missing() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> missing;
  for (const auto& [name, since] : lost_) {
    if (std::chrono::steady_clock::now() - since < kMourning) missing.push_back(name);
  }
  return missing;
}

absl::StatusOr<v1::Result> Hub::Call(const std::string& node, v1::Command command,
                                     Deadline deadline) {
  const std::shared_ptr<Session> session = AwaitSession(node, deadline);
  if (session == nullptr) {
    return Unavailable("node '{}' is not connected; its volumes can be reached when it is back",
                       node);
  }
  return session->Call(std::move(command), deadline);
}

bool Hub::WaitFor(const std::string& node, Deadline deadline) {
  return AwaitSession(node, deadline) != nullptr;
}

std::shared_ptr<Session> Hub::AwaitSession(const std::string& node, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto limit = std::min<Duration>(TimeLeft(deadline), kReturnTime);
  changed_.wait_for(lock, limit, [&] { return stopped_ || nodes_.contains(node); });
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : found->second.session;
}

std::vector<NodeView> Hub::Nodes() const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeView> views;
  for (const auto& [name, node] : nodes_) views.push_back({name, node.pools});
  return views;
}

std::vector<NodeView> Hub::Nodes(const std::vector<std::string>& names) const {
  const std::lock_guard lock(mutex_);
  std::vector<NodeView> views;
  for (const std::string& name : names) {
    const auto node = nodes_.find(name);
    if (node != nodes_.end()) views.push_back({name, node->second.pools});
  }
  return views;
}

std::size_t Hub::CountNodes() const {
  const std::lock_guard lock(mutex_);
  return nodes_.size();
}

std::map<absl::StatusCode, std::uint64_t> Hub::Refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

void Hub::EndSilent() {
  std::vector<std::shared_ptr<Session>> silent;
  {
    const std::lock_guard lock(mutex_);
    ForgetGone();
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [raw, weak] : sessions_) {
      const std::shared_ptr<Session> session = weak.lock();
      if (session && !session->proved() && now - session->started_at() > kRegisterTime) {
        silent.push_back(session);
      }
    }
  }
  for (const auto& session : silent) {
    session->End(MakeStatus(absl::StatusCode::kDeadlineExceeded, "the node has not said its name"));
  }
}

void Hub::Stop() {
  std::vector<std::shared_ptr<Session>> all;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& [raw, weak] : sessions_) {
      if (auto session = weak.lock()) all.push_back(std::move(session));
    }
    changed_.notify_all();
  }
  for (const auto& session : all) session->End(Unavailable("the controller is stopping"));
}

absl::Status Hub::OnRegister(Session& session, const v1::Register& message) {
  if (message.protocol() != kProtocol) {
    return FailedPrecondition("protocol {} is not spoken here, {} is", message.protocol(),
                              kProtocol);
  }
  if (message.driver() != driver_name_) {
    return InvalidArgument("this is the controller of '{}', not of '{}'", driver_name_,
                           message.driver());
  }
  RETURN_IF_ERROR(ValidateNodeId(message.node()));
  RETURN_IF_ERROR(identity_.Check(session.peer_names(), message));
  Arrival arrival{.pools = message.pools(), .volumes = {}};
  RETURN_IF_ERROR(CheckPools(arrival.pools));
  const PoolIds pools = IdsOf(arrival.pools);
  arrival.volumes = NamedVolumes(pools);
  session.set_node(message.node());
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(RequireSamePools(message.node(), pools));
  registered_.insert_or_assign(&session, std::move(arrival));
  return absl::OkStatus();
}

absl::Status Hub::OnVolumes(Session& session, const v1::Volumes& part) {
  const std::lock_guard lock(mutex_);
  const auto registered = registered_.find(&session);
  if (registered == registered_.end()) return absl::OkStatus();  // it has ended
  return registered->second.volumes.Add(part);
}

// A second node of one name, or one whose disk is another now, would answer for volumes that it
// does not have, and "there is none" means deleted.
absl::Status Hub::RequireSamePools(const std::string& node, const PoolIds& pools) const {
  const auto before = pool_ids_.find(node);
  if (before == pool_ids_.end()) return absl::OkStatus();
  std::size_t count = before->second.size();
  for (const auto& [name, id] : pools) {
    const auto known = before->second.find(name);
    if (known == before->second.end()) ++count;
    if (known == before->second.end() || known->second == id || id.empty()) continue;
    return FailedPrecondition(
        "pool '{}' of node '{}' is {}, but it was {}: two nodes of one name, or another disk? If "
        "it is meant, restart the controller",
        name, node, id, known->second);
  }
  if (count <= kMaxPoolsOfNode) return absl::OkStatus();
  return ResourceExhausted(
      "node '{}' has had more than {} pools since the controller started; restart it if they are "
      "meant",
      node, kMaxPoolsOfNode);
}

void Hub::ForgetGone() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(lost_, [&](const auto& lost) {
    const bool gone = now - lost.second >= kMourning;
    if (gone) names_.Forget(lost.first);
    return gone;
  });
}

void Hub::OnProved(const std::shared_ptr<Session>& session) {
  std::shared_ptr<Session> older;
  std::vector<VolumeId> doubles;
  {
    const std::lock_guard lock(mutex_);
    const auto registered = registered_.find(session.get());
    if (registered == registered_.end()) return;  // it has ended
    Node& node = nodes_[session->node()];
    older = std::exchange(node.session, session);
    node.pools = std::make_shared<const v1::Pools>(std::move(registered->second.pools));
    lost_.erase(session->node());
    for (const auto& [name, id] : IdsOf(*node.pools)) {
      if (!id.empty()) pool_ids_[session->node()].insert_or_assign(name, id);
    }
    doubles = names_.Replace(session->node(), std::move(registered->second.volumes),
                             session->started_at());
    registered_.erase(registered);
    PostponeSettled();
    changed_.notify_all();
  }
  LogInfo("node '{}' is connected from {}", session->node(), session->peer());
  if (!doubles.empty()) {
    LogWarning(
        "node '{}' has {} volumes, '{}' among them, of names that other volumes have as well: one "
        "of each two may be left over",
        session->node(), doubles.size(), doubles.front().ToString());
  }
  if (older != nullptr) {
    LogWarning("node '{}' was connected from {}: that link is ended", older->node(), older->peer());
    older->End(Aborted("node '{}' has connected again", older->node()));
  }
}

absl::Status Hub::OnPools(Session& session, const v1::Pools& pools) {
  v1::Pools told = pools;
  RETURN_IF_ERROR(CheckPools(told));
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(session.node());
  if (node == nodes_.end() || node->second.session.get() != &session) return absl::OkStatus();
  if (IdsOf(told) != IdsOf(*node->second.pools)) {
    return FailedPrecondition("the pools are others than those that were registered");
  }
  node->second.pools = std::make_shared<const v1::Pools>(std::move(told));
  return absl::OkStatus();
}

void Hub::OnEnd(Session& session, const absl::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!session.proved()) ++refusals_[why.code()];
    sessions_.erase(&session);
    registered_.erase(&session);
    const auto node = nodes_.find(session.node());
    if (node != nodes_.end() && node->second.session.get() == &session) {
      nodes_.erase(node);
      lost_[session.node()] = std::chrono::steady_clock::now();
    }
  }
  LogWarning("the link to {} is over: {}",
             session.node().empty() ? session.peer() : fmt::format("node '{}'", session.node()),
             MessageOf(why));
}

}  // namespace holdfast::link
