// SPDX-License-Identifier: Apache-2.0
#include "server/link_connections.h"

#include <malloc.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "link/limits.h"
#include "os/connection.h"

namespace holdfast::server {
namespace {

// A node proves itself within this even where others keep the controller busy. The longer it is,
// the fewer of a flood's connections are let in, and a node behind the same address is one of them.
constexpr std::chrono::milliseconds kFairTime{250};
// Nodes that are proved have their streams to lose and are looked at less often.
constexpr std::chrono::milliseconds kLookAtAll{500};
// Hundreds of streams are there before the second is noticed, and take a while to go.
constexpr std::chrono::seconds kBarredTime{5};
// What TLS and HTTP/2 add to a message: certificates, headers, pings.
constexpr std::uint64_t kOverhead = 64 << 10;

// What malloc has handed out; what it keeps for later does not count.
std::uint64_t BytesInUse() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

std::string KeyOf(const std::string& address, std::uint16_t port) {
  return address + ":" + std::to_string(port);
}

// gRPC writes "ipv4:192.0.2.1:40000" and "ipv6:%5B2001:db8::1%5D:40000", with the scope of an
// address behind another %25.
std::string KeyOf(const std::string& peer) {
  const std::size_t scheme = peer.find(':');
  const std::size_t port = peer.rfind(':');
  if (scheme == std::string::npos || port <= scheme) return {};
  std::string address = peer.substr(scheme + 1, port - scheme - 1);
  if (address.starts_with("%5B")) address.erase(0, 3);
  if (address.starts_with('[')) address.erase(0, 1);
  address.erase(std::min(address.find_first_of("%]"), address.size()));
  return address + peer.substr(port);
}

}  // namespace

bool LinkConnections::Admit(int connection) {
  const auto now = Clock::now();
  const std::optional<os::Peer> peer = os::PeerOf(connection);
  if (!peer) return false;  // it is gone again
  os::UniqueFd own = os::DuplicateOf(connection);
  const MutexLock lock(mutex_);
  if (!own.valid() || !MakeRoom(peer->address, now)) {
    Refuse(peer->address, "there is no place for it");
    return false;
  }
  Connection& entry = connections_[KeyOf(peer->address, peer->port)];
  if (entry.own.valid()) Uncount(entry);  // one that had the same port before
  entry = Connection{.own = std::move(own),
                     .theirs = connection,
                     .socket = os::InodeOf(connection),
                     .address = peer->address,
                     .number = next_number_++,
                     .since = now};
  Count(entry);
  return true;
}

void LinkConnections::Count(Connection& connection) {
  ++counts_[connection.state];
  if (connection.state == State::kUnproved) {
    unproved_[connection.address].emplace(connection.number, &connection);
  }
}

void LinkConnections::Uncount(Connection& connection) {
  --counts_[connection.state];
  if (connection.state != State::kUnproved) return;
  const auto same = unproved_.find(connection.address);
  same->second.erase(connection.number);
  if (same->second.empty()) unproved_.erase(same);
}

// Those that are cut count until gRPC has closed them: it may need a while, and they cost as much.
bool LinkConnections::MakeRoom(const std::string& address, Clock::time_point now) {
  if (short_of_memory_ || barred_.contains(address)) return false;
  if (counts_[State::kUnproved] + counts_[State::kCut] < bounds_.max_unproved) return true;
  if (counts_[State::kCut] > bounds_.max_unproved / 4) return false;
  const auto most = std::ranges::max_element(
      unproved_, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == unproved_.end()) return false;
  Connection& oldest = *most->second.begin()->second;
  const auto same = unproved_.find(address);
  const std::size_t own = same == unproved_.end() ? 0 : same->second.size();
  if (own + 1 >= most->second.size() && now - oldest.since < kFairTime) return false;
  Cut(oldest, "a waiting connection needs its place");
  return true;
}

void LinkConnections::Cut(Connection& connection, const char* why) {
  ::shutdown(connection.own.get(), SHUT_RDWR);
  Uncount(connection);
  connection.state = State::kCut;
  Count(connection);
  Refuse(connection.address, why);
}

void LinkConnections::Refuse(const std::string& address, const char* why) {
  refused_();
  if (const auto skipped = lines_.Take()) {
    LogWarning(
        "link: a connection from {} was closed: {}; {} have not proved to be nodes, at most "
        "{} may{}",
        address, why, counts_[State::kUnproved], bounds_.max_unproved, LogThrottle::Note(*skipped));
  }
}

bool LinkConnections::SendsTooMuch(Connection& connection) {
  const auto bytes = os::BytesReceived(connection.own.get());
  if (!bytes) return false;
  if (std::exchange(connection.message_came, false)) connection.bytes_before = *bytes;
  const std::uint64_t most =
      connection.state == State::kProved ? link::kMaxMessageBytes : link::kMaxUnprovedMessageBytes;
  return *bytes - connection.bytes_before > most + kOverhead;
}

bool LinkConnections::Inspect() {
  const auto now = Clock::now();
  const bool short_of_memory = BytesInUse() > bounds_.most_memory;
  const MutexLock lock(mutex_);
  short_of_memory_ = short_of_memory;
  std::erase_if(barred_, [&](const auto& barred) { return now >= barred.second; });
  const bool all = now - last_look_at_all_ >= kLookAtAll;
  if (all) last_look_at_all_ = now;
  for (auto next = connections_.begin(); next != connections_.end();) {
    auto& [key, connection] = *next;
    const auto current = next++;
    if (connection.state == State::kProved && !all) continue;
    if (os::InodeOf(connection.theirs) != connection.socket) {
      Uncount(connection);
      connections_.erase(current);
      continue;
    }
    if (connection.state == State::kCut) continue;
    if (connection.state == State::kUnproved && short_of_memory) {
      Cut(connection, "memory is short");
    } else if (connection.state == State::kUnproved && now - connection.since > kProofTime) {
      Cut(connection, "it has not proved in time to be a node");
    } else if (SendsTooMuch(connection)) {
      Cut(connection, "it sends more than a message may have");
    }
  }
  return counts_[State::kUnproved] + counts_[State::kCut] > 0;
}

LinkConnections::Connection* LinkConnections::Find(const std::string& peer) {
  const auto found = connections_.find(KeyOf(peer));
  return found == connections_.end() || found->second.state == State::kCut ? nullptr
                                                                           : &found->second;
}

// gRPC 1.51 heeds its own limit of streams only when the peer has confirmed it.
bool LinkConnections::StreamStarts(const std::string& peer) {
  const MutexLock lock(mutex_);
  const auto found = connections_.find(KeyOf(peer));
  if (found == connections_.end()) return true;
  Connection& connection = found->second;
  if (connection.state == State::kCut) return false;
  if (++connection.streams <= link::kMaxStreamsPerConnection) return true;
  Cut(connection, "it opens more streams than a node needs");
  barred_[connection.address] = Clock::now() + kBarredTime;
  return false;
}

void LinkConnections::StreamIsOver(const std::string& peer) {
  const MutexLock lock(mutex_);
  if (Connection* const connection = Find(peer)) --connection->streams;
}

void LinkConnections::MessageCame(const std::string& peer) {
  const MutexLock lock(mutex_);
  if (Connection* const connection = Find(peer)) connection->message_came = true;
}

void LinkConnections::Proved(const std::string& peer) {
  const MutexLock lock(mutex_);
  Connection* const connection = Find(peer);
  if (connection == nullptr || connection->state != State::kUnproved) return;
  Uncount(*connection);
  connection->state = State::kProved;
  Count(*connection);
}

}  // namespace holdfast::server
