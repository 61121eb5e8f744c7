// SPDX-License-Identifier: Apache-2.0
#include "link/session.h"

#include <algorithm>

#include "core/volume_id.h"

namespace holdfast::link {

std::shared_ptr<Session> Session::Start(SessionOwner& owner, std::vector<std::string> peer_names,
                                        std::string peer) {
  std::shared_ptr<Session> session(new Session(owner, std::move(peer_names), std::move(peer)));
  session->self_ = session;
  session->StartRead(&session->incoming_);
  return session;
}

bool Session::proved() const {
  const std::lock_guard lock(mutex_);
  return stage_ == Stage::kProved;
}

absl::StatusOr<v1::Result> Session::Call(v1::Command command, Deadline deadline) {
  Waiter waiter;
  std::unique_lock lock(mutex_);
  if (ended_) return Unavailable("node '{}' is not connected", node_);
  const std::uint64_t id = next_id_++;
  const auto left = deadline - std::chrono::system_clock::now();
  command.set_id(id);
  command.set_timeout_ms(std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
  waiting_.emplace(id, &waiter);
  v1::ToNode message;
  *message.mutable_command() = std::move(command);
  outgoing_.push_back(std::move(message));
  WriteNext();
  waiter.done.wait_until(lock, deadline, [&] { return waiter.result || waiter.lost; });
  waiting_.erase(id);
  if (waiter.result) return *std::move(waiter.result);
  if (waiter.lost) return Unavailable("the link to node '{}' broke; try again", node_);
  return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                    fmt::format("node '{}' has not answered yet; try again", node_));
}

void Session::End(const absl::Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = true;
    for (auto& [id, waiter] : waiting_) {
      waiter->lost = true;
      waiter->done.notify_one();
    }
    Finish(grpc::Status(static_cast<grpc::StatusCode>(why.code()), MessageOf(why)));
  }
  owner_.OnEnd(*this, why);
}

void Session::OnReadDone(bool ok) {
  if (!ok) return End(Unavailable("the node hung up"));
  const absl::Status handled = Handle(incoming_);
  if (!handled.ok()) return End(handled);
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  incoming_.Clear();
  StartRead(&incoming_);
}

void Session::OnWriteDone(bool ok) {
  if (!ok) return End(Unavailable("the link broke"));
  const std::lock_guard lock(mutex_);
  writing_ = false;
  outgoing_.pop_front();
  WriteNext();
}

void Session::OnDone() {
  const std::shared_ptr<Session> last = std::move(self_);  // may end here
}

absl::Status Session::Handle(const v1::FromNode& message) {
  Stage stage = Stage::kNew;
  {
    const std::lock_guard lock(mutex_);
    stage = stage_;
  }
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
      HandleResult(message.result());
      return absl::OkStatus();
    case v1::FromNode::MESSAGE_NOT_SET:
      break;
  }
  return InvalidArgument("a message out of its order");
}

absl::Status Session::HandleRegister(const v1::Register& message) {
  RETURN_IF_ERROR(owner_.OnRegister(*this, message));
  nonce_ = RandomUuid();
  v1::ToNode challenge;
  challenge.mutable_challenge()->set_nonce(nonce_);
  const std::lock_guard lock(mutex_);
  stage_ = Stage::kRegistered;
  outgoing_.push_back(std::move(challenge));
  WriteNext();
  return absl::OkStatus();
}

absl::Status Session::HandleProof(const v1::Proof& proof) {
  if (proof.nonce() != nonce_)
    return MakeStatus(absl::StatusCode::kUnauthenticated, "the challenge was not answered");
  const std::lock_guard lock(mutex_);
  stage_ = Stage::kNaming;
  return absl::OkStatus();
}

absl::Status Session::HandleVolumes(const v1::Volumes& part) {
  RETURN_IF_ERROR(owner_.OnVolumes(*this, part));
  if (!part.last()) return absl::OkStatus();
  {
    const std::lock_guard lock(mutex_);
    stage_ = Stage::kProved;
  }
  owner_.OnProved(self_);
  return absl::OkStatus();
}

void Session::HandleResult(v1::Result result) {
  const std::lock_guard lock(mutex_);
  const auto waiter = waiting_.find(result.id());
  if (waiter == waiting_.end()) return;  // nobody waits any more
  waiter->second->result = std::move(result);
  waiter->second->done.notify_one();
}

void Session::WriteNext() {
  if (ended_ || writing_ || outgoing_.empty()) return;
  writing_ = true;
  StartWrite(&outgoing_.front());
}

}  // namespace holdfast::link
