// SPDX-License-Identifier: Apache-2.0
#include "link/transfer_relay.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/log.h"
#include "core/start_thread.h"
#include "core/volume_id.h"
#include "link/frame.h"
#include "link/hub.h"

namespace holdfast::link {
namespace {

absl::Status TicketIsVoid() {
  return MakeStatus(absl::StatusCode::kPermissionDenied,
                    "the ticket of this transfer is void; the repeated call brings another one");
}

}  // namespace

// One node's stream. Its fields are guarded by the relay's mutex, but for those of its own reads
// before it is open.
class TransferRelay::End final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  End(TransferRelay& relay, std::vector<std::string> names, std::string address)
      : peer_names(std::move(names)), peer(std::move(address)), relay_(relay) {}

  void OnReadDone(bool ok) override { relay_.OnRead(*this, ok); }
  void OnWriteDone(bool ok) override { relay_.OnWritten(*this, ok); }
  void OnCancel() override { relay_.OnBroken(*this); }
  void OnDone() override { relay_.OnGone(*this); }

  const std::vector<std::string> peer_names;
  const std::string peer;  // address
  const Clock::time_point since = Clock::now();
  std::string ticket;         // empty: not open yet
  End* other = nullptr;       // of the same transfer; as long as both are joined
  grpc::ByteBuffer incoming;  // gRPC's while a read is under way
  grpc::ByteBuffer outgoing;  // gRPC's while a write is under way
  bool has_come = false;      // a message that waits in `incoming` for the other end
  bool writing = false;       // a write is under way
  bool ended = false;         // no more reads and writes may be started

 private:
  TransferRelay& relay_;
};

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* TransferRelay::Service::Join(
    grpc::CallbackServerContext* context) {
  const auto end =
      std::make_shared<End>(relay_, CertificateNames(*context->auth_context()), context->peer());
  const bool admitted = relay_.watch_ == nullptr || relay_.watch_->StreamStarts(context->peer());
  const MutexLock lock(relay_.mutex_);
  relay_.ends_.emplace(end.get(), end);
  if (!admitted) {
    relay_.Finish(*end, ResourceExhausted("too many streams"));
  } else if (relay_.stopped_) {
    relay_.Finish(*end, Unavailable("the controller is stopping"));
  } else {
    end->StartRead(&end->incoming);
  }
  return end.get();
}

TransferRelay::TransferRelay(std::string driver_name, NodeIdentity& identity, TransferTimes times)
    : driver_name_(std::move(driver_name)), identity_(identity), times_(times) {}

TransferRelay::~TransferRelay() {
  Stop();
  MutexLock lock(mutex_);
  idle_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return summoning_ == 0; });
}

std::string TransferRelay::Issue(const TransferOrder& order) {
  std::string ticket = RandomUuid();
  const MutexLock lock(mutex_);
  pairings_[ticket] = {.order = order, .since = Clock::now(), .source = nullptr, .target = nullptr};
  return ticket;
}

std::size_t TransferRelay::CountTransfers() const {
  const MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      pairings_, [](const auto& pairing) { return pairing.second.joined(); }));
}

void TransferRelay::EndOverdue() {
  const auto now = Clock::now();
  const MutexLock lock(mutex_);
  for (auto next = pairings_.begin(); next != pairings_.end();) {
    const auto pairing = next++;
    const auto& [order, since, source, target] = pairing->second;
    const bool open = source != nullptr || target != nullptr;
    const auto limit = pairing->second.joined() ? times_.silence
                       : open                   ? times_.joining
                                                : times_.ticket;
    if (now - since < limit) continue;
    const std::string& silent = target == nullptr ? order.target : order.source;
    FinishPairing(pairing, pairing->second.joined()
                               ? Unavailable("nothing has come for too long from the other node")
                               : Unavailable("node '{}' has not opened the transfer", silent));
  }
  for (const auto& [raw, end] : ends_) {
    if (end->ticket.empty() && now - end->since >= times_.joining) {
      Finish(*end, MakeStatus(absl::StatusCode::kDeadlineExceeded,
                              "the node has not said which transfer it opens"));
    }
  }
}

void TransferRelay::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (const auto& [raw, end] : ends_) Finish(*end, Unavailable("the controller is stopping"));
  pairings_.clear();
}

void TransferRelay::OnRead(End& end, bool ok) {
  if (ok && watch_ != nullptr) watch_->MessageCame(end.peer);
  bool is_first = false;
  {
    const MutexLock lock(mutex_);
    if (end.ended) return;
    is_first = end.ticket.empty();
    if (ok && !is_first) {
      end.has_come = true;
      return PassOn(end);
    }
    if (!ok) return OnHangUp(end);
  }
  const absl::Status opened = Open(end, std::exchange(end.incoming, {}));
  if (opened.ok()) return;
  LogWarning("a transfer from {} is refused: {}", end.peer, MessageOf(opened));
  const MutexLock lock(mutex_);
  Finish(end, opened);
}

// The target hangs up when it has everything. The source does when it has sent everything, and the
// target still needs time.
void TransferRelay::OnHangUp(End& end) {
  const auto pairing = pairings_.find(end.ticket);
  if (pairing == pairings_.end()) return Finish(end, Unavailable("the node hung up"));
  if (pairing->second.joined() && pairing->second.source.get() == &end) return;
  FinishPairing(
      pairing, pairing->second.joined() ? absl::OkStatus() : Unavailable("the other node hung up"));
}

void TransferRelay::OnWritten(End& end, bool ok) {
  if (!ok) return OnBroken(end);
  const MutexLock lock(mutex_);
  if (end.ended || end.other == nullptr) return;
  end.writing = false;
  end.outgoing.Clear();
  if (end.other->has_come) PassOn(*end.other);
}

void TransferRelay::OnBroken(End& end) {
  const MutexLock lock(mutex_);
  const auto pairing = pairings_.find(end.ticket);
  const absl::Status why = Unavailable("the transfer broke off");
  if (pairing != pairings_.end()) return FinishPairing(pairing, why);
  Finish(end, why);
}

void TransferRelay::OnGone(End& end) {
  if (watch_ != nullptr) watch_->StreamIsOver(end.peer);
  std::shared_ptr<End> last;  // ends after the lock is released
  const MutexLock lock(mutex_);
  const auto found = ends_.find(&end);
  last = std::move(found->second);
  ends_.erase(found);
}

absl::Status TransferRelay::Open(End& end, grpc::ByteBuffer first) {
  ASSIGN_OR_RETURN(const v1::Part part, ParsePart(std::move(first)));
  if (!part.has_opening()) return InvalidArgument("a part out of order");
  const v1::Opening& opening = part.opening();
  const v1::Register& node = opening.node();
  if (node.protocol() != kProtocol || node.driver() != driver_name_) {
    return FailedPrecondition("this is the controller of '{}', protocol {}", driver_name_,
                              kProtocol);
  }
  RETURN_IF_ERROR(ValidateNodeId(node.node()));
  RETURN_IF_ERROR(identity_.Check(end.peer_names, node));
  RETURN_IF_ERROR(Enter(end, opening));
  if (watch_ != nullptr) watch_->Proved(end.peer);
  return absl::OkStatus();
}

absl::Status TransferRelay::Enter(End& end, const v1::Opening& opening) {
  const std::string& node = opening.node().node();
  const MutexLock lock(mutex_);
  if (end.ended) return Unavailable("the stream is over");
  const auto pairing = pairings_.find(opening.ticket());
  if (pairing == pairings_.end()) return TicketIsVoid();
  auto& [order, since, source, target] = pairing->second;
  if (node != order.source && node != order.target) return TicketIsVoid();
  std::shared_ptr<End>& place = node == order.source ? source : target;
  if (place != nullptr) return TicketIsVoid();
  // A source that comes by itself has nothing to send to.
  if (node == order.source && target == nullptr) return TicketIsVoid();
  if (node == order.target) {
    RETURN_IF_ERROR(RequireRoom());
    RETURN_IF_ERROR(StartSummoning(order, opening.ticket()));
  }
  place = ends_.at(&end);
  end.ticket = opening.ticket();
  since = Clock::now();
  end.StartRead(&end.incoming);
  if (!pairing->second.joined()) return absl::OkStatus();
  source->other = target.get();
  target->other = source.get();
  LogInfo("transfer of '{}' from node '{}' to node '{}' begins", order.content, order.source,
          order.target);
  if (target->has_come) PassOn(*target);
  return absl::OkStatus();
}

absl::Status TransferRelay::RequireRoom() const {
  const auto open = std::ranges::count_if(
      pairings_, [](const auto& pairing) { return pairing.second.target != nullptr; });
  if (static_cast<std::size_t>(open) < kMostTransfers) return absl::OkStatus();
  return Unavailable("the controller passes on {} snapshots, as many as it can; try again", open);
}

absl::Status TransferRelay::StartSummoning(const TransferOrder& order, const std::string& ticket) {
  ASSIGN_OR_RETURN(std::thread thread,
                   StartThread([this, order, ticket] { CallSource(order, ticket); }));
  thread.detach();
  ++summoning_;
  return absl::OkStatus();
}

void TransferRelay::CallSource(const TransferOrder& order, const std::string& ticket) {
  const absl::Status called = summon_(order, ticket);
  const MutexLock lock(mutex_);
  const auto pairing = pairings_.find(ticket);
  if (!called.ok() && pairing != pairings_.end()) FinishPairing(pairing, called);
  --summoning_;
  idle_.NotifyAll();
}

// The next message is read while this one is written: at most two of each direction are held.
void TransferRelay::PassOn(End& from) {
  if (from.other == nullptr || from.other->ended || from.other->writing) return;
  pairings_.at(from.ticket).since = Clock::now();
  from.has_come = false;
  from.other->writing = true;
  from.other->outgoing.Swap(&from.incoming);
  from.other->StartWrite(&from.other->outgoing);
  from.StartRead(&from.incoming);
}

void TransferRelay::Finish(End& end, const absl::Status& why) {
  if (std::exchange(end.ended, true)) return;
  end.other = nullptr;
  end.Finish(grpc::Status(static_cast<grpc::StatusCode>(why.code()), MessageOf(why)));
}

void TransferRelay::FinishPairing(Pairings::iterator pairing, const absl::Status& why) {
  const auto& [order, since, source, target] = pairing->second;
  if (pairing->second.joined()) {
    LogInfo("transfer of '{}' from node '{}' to node '{}' is over: {}", order.content, order.source,
            order.target, why.ok() ? "complete" : MessageOf(why));
  }
  for (const auto& end : {source, target}) {
    if (end != nullptr) Finish(*end, why);
  }
  pairings_.erase(pairing);
}

}  // namespace holdfast::link
