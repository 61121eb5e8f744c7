// SPDX-License-Identifier: Apache-2.0
// The controller's end of transfers between nodes: joins the two streams of a ticket and passes on
// what comes. It holds one message for each direction, and nothing on a disk.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/mutex.h"
#include "core/status.h"
#include "link/node_identity.h"
#include "link/peer_watch.h"
#include "proto/link.grpc.pb.h"

namespace holdfast::link {

struct TransferOrder {
  std::string content;  // id of the snapshot
  std::string version;  // of its bytes, as its node has described it
  std::string source;   // its node
  std::string target;   // the node that wants it

  bool operator==(const TransferOrder&) const = default;
};

struct TransferTimes {
  using Duration = std::chrono::milliseconds;
  Duration ticket = std::chrono::seconds(60);   // a ticket that is not used by then is void
  Duration joining = std::chrono::seconds(30);  // how long one end waits for the other
  // Without a message; the target writes up to 256 MiB to its disk between two.
  Duration silence = std::chrono::minutes(2);
};

// Thread-safe.
class TransferRelay final {
 public:
  // At once; a target beyond that is UNAVAILABLE. Each may take some MiB of memory.
  static constexpr std::size_t kMostTransfers = 16;

  // Asks the source to dial with the ticket. Called on a thread of its own.
  using Summon = std::function<absl::Status(const TransferOrder&, const std::string& ticket)>;

  // `identity` outlives it.
  TransferRelay(std::string driver_name, NodeIdentity& identity, TransferTimes times = {});
  ~TransferRelay();

  // Both before the service is served; `watch` outlives the server.
  void SetPeerWatch(PeerWatch& watch) { watch_ = &watch; }
  void SetSummon(Summon summon) { summon_ = std::move(summon); }
  // To be served with credentials that ask the peer for a certificate.
  [[nodiscard]] grpc::Service& service() { return service_; }

  // A ticket for one transfer, to be handed to the target. It cannot be guessed, each of the two
  // nodes can use it once, and no other node can.
  [[nodiscard]] std::string Issue(const TransferOrder& order);

  // Ends what waits too long and forgets tickets. Call about once a second.
  void EndOverdue();
  // Ends all transfers and takes no more.
  void Stop();

  [[nodiscard]] std::size_t CountTransfers() const;  // joined ones

 private:
  using Clock = std::chrono::steady_clock;
  class End;
  class Service final : public v1::Transfer::WithRawCallbackMethod_Join<v1::Transfer::Service> {
   public:
    explicit Service(TransferRelay& relay) : relay_(relay) {}
    grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Join(
        grpc::CallbackServerContext* context) override;

   private:
    TransferRelay& relay_;
  };
  struct Pairing {
    TransferOrder order;
    Clock::time_point since;  // issued, opened, or the last message
    std::shared_ptr<End> source;
    std::shared_ptr<End> target;
    [[nodiscard]] bool joined() const { return source != nullptr && target != nullptr; }
  };
  using Pairings = std::map<std::string, Pairing>;

  void OnRead(End& end, bool ok);
  void OnWritten(End& end, bool ok);
  void OnBroken(End& end);
  void OnGone(End& end);
  void OnHangUp(End& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Open(End& end, grpc::ByteBuffer first);
  absl::Status Enter(End& end, const v1::Opening& opening);
  absl::Status RequireRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StartSummoning(const TransferOrder& order, const std::string& ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CallSource(const TransferOrder& order, const std::string& ticket);
  void PassOn(End& from) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(End& end, const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishPairing(Pairings::iterator pairing, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string driver_name_;
  NodeIdentity& identity_;
  const TransferTimes times_;
  PeerWatch* watch_ = nullptr;
  Summon summon_;
  Service service_{*this};

  mutable Mutex mutex_;
  CondVar idle_;
  Pairings pairings_ ABSL_GUARDED_BY(mutex_);  // by ticket
  std::map<const End*, std::shared_ptr<End>> ends_ ABSL_GUARDED_BY(mutex_);
  int summoning_ ABSL_GUARDED_BY(mutex_) = 0;  // threads
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::link
