// SPDX-License-Identifier: Apache-2.0
// The bytes of snapshots that this process sends to other nodes, and those of volumes that come
// from other pools: on threads of their own, because they take minutes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/content.h"
#include "core/key_lock.h"
#include "core/mutex.h"
#include "core/volume.h"
#include "pool/pool.h"

namespace holdfast::controller {

// The node's end of the link (link/transfer.h).
struct ContentLink {
  std::function<absl::Status(const std::string& ticket, ContentReader& reader)> send;
  std::function<absl::Status(const std::string& ticket, ContentWriter& writer)> take;
  std::function<void()> cancel;  // ends both wherever they are
};

// What became of the transfers of one direction since the start.
struct TransferFigures {
  std::size_t running = 0;
  Bytes bytes = 0;              // without zeros, which are not sent; again if sent again
  std::uint64_t continued = 0;  // that began where an earlier one had come to
  // How those went that have ended. DATA_LOSS: a piece was not what its source had read.
  std::map<absl::StatusCode, std::uint64_t> ended{};
};

// Thread-safe.
class ContentTransfers final {
 public:
  // More at once would only share the same disk.
  static constexpr int kMostArriving = 2;
  static constexpr int kMostSending = 4;

  // `volume_locks` outlives it. `rate` is in bytes per second for all that comes and, separately,
  // for all that goes; 0: no limit.
  ContentTransfers(KeyLock& volume_locks, Bytes rate)
      : volume_locks_(volume_locks), arriving_limit_(rate), sending_limit_(rate) {}
  ContentTransfers(const ContentTransfers&) = delete;
  ContentTransfers& operator=(const ContentTransfers&) = delete;
  // Ends what is under way and waits for it. A repeated call goes on from what is kept.
  ~ContentTransfers();

  // Before the first call, where there is a link.
  void SetLink(ContentLink link) { link_ = std::move(link); }

  // Begins to bring the bytes of a volume that Create left in state copying, unless that is under
  // way, and waits for a moment for its end. Not with the volume's lock held. `pool` outlives it.
  // Returns why the last attempt has ended; OK if none has failed.
  [[nodiscard]] absl::Status Take(pool::Pool& pool, const VolumeId& id, const Content& content,
                                  const std::string& ticket);
  // The same from a pool of this process.
  [[nodiscard]] absl::Status Copy(pool::Pool& pool, const VolumeId& id, const Content& content,
                                  std::unique_ptr<ContentReader> reader);

  // Begins to send. UNAVAILABLE when too much is under way; UNIMPLEMENTED without a link.
  [[nodiscard]] absl::Status Send(const std::string& ticket, std::unique_ptr<ContentReader> reader);

  // What comes from other pools, also of this process, and what goes to other nodes.
  [[nodiscard]] TransferFigures Arriving() const;
  [[nodiscard]] TransferFigures Sending() const;

 private:
  using Bring = std::function<absl::Status(ContentWriter&)>;
  absl::Status Arrive(pool::Pool& pool, const VolumeId& id, const Content& content, Bring bring);
  absl::Status BringTo(pool::Pool& pool, const VolumeId& id, const Content& content,
                       const Bring& bring);
  bool Start(const std::string& key, int most, std::map<std::string, std::thread>& running,
             std::function<void()> work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  using Ended = std::map<absl::StatusCode, std::uint64_t>;
  static void Count(const absl::Status& status, Ended& ended);
  void End(const std::string& key, std::map<std::string, std::thread>& running)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void JoinEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  KeyLock& volume_locks_;
  RateLimit arriving_limit_;
  RateLimit sending_limit_;
  ContentLink link_;
  std::atomic<std::uint64_t> continued_{0};
  mutable Mutex mutex_;
  CondVar ended_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, absl::Status> failures_ ABSL_GUARDED_BY(mutex_);  // the last, by volume id
  std::map<std::string, std::thread> arriving_ ABSL_GUARDED_BY(mutex_);   // by volume id
  std::map<std::string, std::thread> sending_ ABSL_GUARDED_BY(mutex_);    // by ticket
  Ended arrivals_ ABSL_GUARDED_BY(mutex_);
  Ended dispatches_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> over_ ABSL_GUARDED_BY(mutex_);  // not joined yet
};

}  // namespace holdfast::controller
