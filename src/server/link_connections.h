// SPDX-License-Identifier: Apache-2.0
// Limits the cost of connections to the link's port. Any program may open one; only nodes of the
// cluster may keep it.
//
// gRPC 1.51 bounds neither connections nor, before a message is complete, its size, and gives no
// hold on a connection. So each one is known here by a descriptor of its own, which cuts it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/log.h"
#include "core/mutex.h"
#include "link/peer_watch.h"
#include "os/unique_fd.h"

namespace holdfast::server {

// Thread-safe.
class LinkConnections final : public link::PeerWatch {
 public:
  // A peer that has not proved by then that it is a node is cut off.
  static constexpr std::chrono::seconds kProofTime{15};

  struct Bounds {
    std::size_t max_unproved;   // connections that have not proved it
    std::uint64_t most_memory;  // bytes in use, above which there are none of these
  };

  // `refused` is called for each connection that was closed here, from any thread; it does not
  // wait.
  LinkConnections(const Bounds& bounds, std::function<void()> refused)
      : bounds_(bounds), refused_(std::move(refused)) {}

  // A new connection. False if no place is free for it: the caller then closes it. When all
  // places are taken, the oldest connection of the address that has most of them gives way; to one
  // of an address that has as many, only after a quarter of a second, in which a node can prove
  // itself. An address from which many streams were opened on one connection is not let in for some
  // time.
  [[nodiscard]] bool Admit(int connection);

  // Forgets connections that gRPC has closed; cuts those that took too long to prove themselves, or
  // that have sent more than a message may have. Call every kLook while it returns true, and about
  // every second otherwise: whether there are any that are not proved.
  [[nodiscard]] bool Inspect();
  static constexpr std::chrono::milliseconds kLook{50};

  [[nodiscard]] bool StreamStarts(const std::string& peer) override;
  void StreamIsOver(const std::string& peer) override;
  void MessageCame(const std::string& peer) override;
  void Proved(const std::string& peer) override;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kUnproved, kProved, kCut };
  struct Connection {
    os::UniqueFd own;          // to cut it, and to see what has come
    int theirs = -1;           // gRPC's descriptor, to see when it is closed; never used for more
    ino_t socket = 0;          // what both stand for
    std::string address;       // of the peer
    std::uint64_t number = 0;  // in the order in which they came
    Clock::time_point since;
    State state = State::kUnproved;
    int streams = 0;
    bool message_came = false;       // since the last look
    std::uint64_t bytes_before = 0;  // that had come when the last message had
  };
  using Connections = std::map<std::string, Connection>;  // by "ADDRESS:PORT"

  bool MakeRoom(const std::string& address, Clock::time_point now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Uncount(Connection& connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cut(Connection& connection, const char* why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Refuse(const std::string& address, const char* why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static bool SendsTooMuch(Connection& connection);
  Connection* Find(const std::string& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Bounds bounds_;
  const std::function<void()> refused_;
  LogThrottle lines_;
  Mutex mutex_;
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  std::map<State, std::size_t> counts_ ABSL_GUARDED_BY(mutex_);  // of connections, by state
  // Those that are not proved by address, the oldest first.
  std::map<std::string, std::map<std::uint64_t, Connection*>> unproved_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  // Addresses of peers that abused a certificate of the cluster: not let in until then.
  std::map<std::string, Clock::time_point> barred_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point last_look_at_all_ ABSL_GUARDED_BY(mutex_);
  bool short_of_memory_ ABSL_GUARDED_BY(mutex_) = false;  // at the last look
};

}  // namespace holdfast::server
