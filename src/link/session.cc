// SPDX-License-Identifier: Apache-2.0
#include "link/session.h"

#include <utility>

#include "core/volume_id.h"
#include "link/frame.h"
#include "link/limits.h"

namespace holdfast::link {
namespace {

// Commands that wait to be written. More than that, and the node does not read.
constexpr std::size_t kMaxOutgoing = 256;

}  // namespace

std::shared_ptr<Session> Session::Start(SessionOwner& owner, std::vector<std::string> peer_names,
                                        std::string peer) {
  std::shared_ptr<Session> session(new Session(owner, std::move(peer_names), std::move(peer)));
  session->self_ = session;
  session->StartRead(&session->incoming_);
  return session;
}

bool Session::proved() const {
  const MutexLock lock(mutex_);
  return stage_ == Stage::kProved;
}

void Session::set_node(std::string node) {
  const MutexLock lock(mutex_);
  node_ = std::move(node);
}

std::string Session::node() const {
  const MutexLock lock(mutex_);
  return node_;
}

std::optional<absl::StatusOr<v1::Result>> Session::Call(const v1::Command& command,
                                                        Deadline deadline) {
  using Answer = absl::StatusOr<v1::Result>;
  Waiter waiter;
  MutexLock lock(mutex_);
  if (ended_ || closing_) return std::nullopt;
  if (outgoing_.size() >= kMaxOutgoing) {
    return Answer(Unavailable("node '{}' does not read its commands; try again", node_));
  }
  const std::uint64_t id = next_id_++;
  const auto left = deadline - std::chrono::steady_clock::now();
  v1::ToNode message;
  *message.mutable_command() = command;
  message.mutable_command()->set_id(id);
  message.mutable_command()->set_timeout_ms(
      std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
  waiting_.emplace(id, &waiter);
  Send(message);
  waiter.done.WaitUntil(lock, deadline, [&] { return waiter.result || waiter.lost; });
  waiting_.erase(id);
  const std::string node = node_;
  lock.Unlock();
  EndIfIdle();
  if (waiter.result) return Answer(*std::move(waiter.result));
  if (waiter.lost) return Answer(Unavailable("the link to node '{}' broke; try again", node));
  return Answer(MakeStatus(absl::StatusCode::kDeadlineExceeded,
                           fmt::format("node '{}' has not answered yet; try again", node)));
}

void Session::End(const absl::Status& why) {
  {
    const MutexLock lock(mutex_);
    if (ended_) return;
    ended_ = true;
    for (auto& [id, waiter] : waiting_) {
      waiter->lost = true;
      waiter->done.NotifyOne();
    }
    Finish(grpc::Status(static_cast<grpc::StatusCode>(why.code()), MessageOf(why)));
  }
  owner_.OnEnd(*this, why);
}

void Session::EndWhenIdle(const absl::Status& why, Deadline latest) {
  {
    const MutexLock lock(mutex_);
    if (end_when_idle_) return;
    end_when_idle_ = why;
    latest_end_ = latest;
  }
  EndIfIdle();
}

void Session::EndIfIdle() {
  std::optional<absl::Status> why;
  {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) why = end_when_idle_;
    closing_ = closing_ || why.has_value();
  }
  if (why) End(*why);
}

void Session::EndIfOverdue(Deadline now) {
  std::optional<absl::Status> why;
  {
    const MutexLock lock(mutex_);
    if (now >= latest_end_) why = end_when_idle_;
  }
  if (why) End(*why);
}

void Session::OnReadDone(bool ok) {
  if (!ok) return End(Unavailable("the node hung up"));
  const absl::Status received = Receive();
  if (!received.ok()) return End(received);
  const MutexLock lock(mutex_);
  if (ended_) return;
  StartRead(&incoming_);
}

void Session::OnWriteDone(bool ok) {
  if (!ok) return End(Unavailable("the link broke"));
  const MutexLock lock(mutex_);
  writing_ = false;
  outgoing_.pop_front();
  WriteNext();
}

void Session::OnDone() {
  owner_.OnGone(*this);
  const std::shared_ptr<Session> last = std::move(self_);  // may end here
}

absl::Status Session::Receive() {
  Stage stage = Stage::kNew;
  {
    const MutexLock lock(mutex_);
    stage = stage_;
  }
  owner_.OnMessage(*this);
  ASSIGN_OR_RETURN(
      v1::FromNode message,
      ParseFrame(std::exchange(incoming_, {}),
                 stage < Stage::kNaming ? kMaxUnprovedMessageBytes : kMaxMessageBytes));
  return Handle(message, stage);
}

absl::Status Session::Handle(v1::FromNode& message, Stage stage) {
  switch (message.message_case()) {
    case v1::FromNode::kRegister:
      if (stage == Stage::kNew) return HandleRegister(message.register_());
      break;
    case v1::FromNode::kProof:
      if (stage == Stage::kRegistered) return HandleProof(message.proof());
      break;
    case v1::FromNode::kPools:
      if (stage != Stage::kProved) break;
      return owner_.OnPools(*this, message.pools());
    case v1::FromNode::kVolumes:
      if (stage != Stage::kNaming) break;
      return HandleVolumes(message.volumes());
    case v1::FromNode::kResult:
      if (stage != Stage::kProved) break;
      HandleResult(std::move(*message.mutable_result()));
      return absl::OkStatus();
    case v1::FromNode::MESSAGE_NOT_SET:
      break;
  }
  return InvalidArgument("a message out of order");
}

absl::Status Session::HandleRegister(const v1::Register& message) {
  RETURN_IF_ERROR(owner_.OnRegister(*this, message));
  nonce_ = RandomUuid();
  v1::ToNode challenge;
  challenge.mutable_challenge()->set_nonce(nonce_);
  const MutexLock lock(mutex_);
  stage_ = Stage::kRegistered;
  Send(challenge);
  return absl::OkStatus();
}

absl::Status Session::HandleProof(const v1::Proof& proof) {
  if (proof.nonce() != nonce_)
    return MakeStatus(absl::StatusCode::kUnauthenticated, "the challenge was not answered");
  const MutexLock lock(mutex_);
  stage_ = Stage::kNaming;
  return absl::OkStatus();
}

absl::Status Session::HandleVolumes(const v1::Volumes& part) {
  RETURN_IF_ERROR(owner_.OnVolumes(*this, part));
  if (!part.last()) return absl::OkStatus();
  {
    const MutexLock lock(mutex_);
    stage_ = Stage::kProved;
  }
  owner_.OnProved(self_);
  return absl::OkStatus();
}

void Session::HandleResult(v1::Result result) {
  const MutexLock lock(mutex_);
  const auto waiter = waiting_.find(result.id());
  if (waiter == waiting_.end()) return;  // no caller waits any more
  waiter->second->result = std::move(result);
  waiter->second->done.NotifyOne();
}

void Session::Send(const v1::ToNode& message) {
  outgoing_.push_back(MakeFrame(message));
  WriteNext();
}

void Session::WriteNext() {
  if (ended_ || writing_ || outgoing_.empty()) return;
  writing_ = true;
  StartWrite(&outgoing_.front());
}

}  // namespace holdfast::link
