// SPDX-License-Identifier: Apache-2.0
#include "controller/content_transfers.h"

#include <malloc.h>

#include <atomic>
#include <utility>

#include "core/log.h"
#include "core/start_thread.h"
#include "os/thread_priority.h"

namespace holdfast::controller {
namespace {

constexpr std::chrono::seconds kMoment{2};
// After a kill no more than this is sent again, and callers see progress this often.
constexpr Bytes kNoteEvery = 256 * kMiB;
constexpr std::chrono::seconds kNoteAfter{5};
constexpr std::chrono::milliseconds kPause{10};
constexpr std::chrono::seconds kLockPatience{30};

// Calls hold the lock for moments only: they do not wait for the bytes.
absl::StatusOr<KeyLock::Guard> LockFor(KeyLock& locks, const VolumeId& id) {
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  while (true) {
    if (auto lock = locks.TryLockInBackground(id.ToString(), "the arrival of its bytes")) {
      return *std::move(lock);
    }
    if (std::chrono::steady_clock::now() >= end) {
      return Aborted("another call has held volume '{}' for too long", id.ToString());
    }
    std::this_thread::sleep_for(kPause);
  }
}

// The volume as a writer that keeps what it is given.
class ArrivingVolume final : public ContentWriter {
 public:
  ArrivingVolume(pool::Pool& pool, KeyLock& locks, VolumeId id, const Content& content,
                 std::unique_ptr<pool::ImageWriter> image, RateLimit& limit)
      : pool_(pool),
        locks_(locks),
        id_(std::move(id)),
        content_(content),
        image_(std::move(image)),
        limit_(limit) {}

  [[nodiscard]] Bytes size() const override { return content_.capacity_bytes; }
  [[nodiscard]] Bytes kept() const override { return image_->kept(); }

  absl::Status Write(Bytes offset, std::string_view bytes) override {
    limit_.Take(static_cast<Bytes>(bytes.size()));
    RETURN_IF_ERROR(image_->Write(offset, bytes));
    const Bytes end = offset + static_cast<Bytes>(bytes.size());
    const auto now = std::chrono::steady_clock::now();
    if (end - image_->kept() < kNoteEvery && now - noted_ < kNoteAfter) return absl::OkStatus();
    RETURN_IF_ERROR(image_->Sync());
    noted_ = now;
    ASSIGN_OR_RETURN(const auto lock, Lock());
    return pool_.NoteArrived(id_, image_->arrival(), end);
  }

  absl::Status Finish() override {
    RETURN_IF_ERROR(image_->Sync());
    ASSIGN_OR_RETURN(const auto lock, Lock());
    return pool_.FinishArrival(id_, image_->arrival());
  }

 private:
  absl::StatusOr<KeyLock::Guard> Lock() { return LockFor(locks_, id_); }

  pool::Pool& pool_;
  KeyLock& locks_;
  const VolumeId id_;
  const Content content_;
  const std::unique_ptr<pool::ImageWriter> image_;
  RateLimit& limit_;
  std::chrono::steady_clock::time_point noted_ = std::chrono::steady_clock::now();
};

}  // namespace

ContentTransfers::~ContentTransfers() {
  MutexLock lock(mutex_);
  ending_ = true;
  if (link_.cancel) link_.cancel();
  ended_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return arriving_.empty() && sending_.empty();
  });
  JoinEnded();
}

absl::Status ContentTransfers::Take(pool::Pool& pool, const VolumeId& id, const Content& content,
                                    const std::string& ticket) {
  return Arrive(pool, id, content,
                [this, ticket](ContentWriter& writer) { return link_.take(ticket, writer); });
}

absl::Status ContentTransfers::Copy(pool::Pool& pool, const VolumeId& id, const Content& content,
                                    std::unique_ptr<ContentReader> reader) {
  const std::shared_ptr<ContentReader> source = std::move(reader);
  return Arrive(pool, id, content,
                [source](ContentWriter& writer) { return CopyContent(*source, writer); });
}

absl::Status ContentTransfers::Arrive(pool::Pool& pool, const VolumeId& id, const Content& content,
                                      Bring bring) {
  const std::string key = id.ToString();
  const auto work = [this, &pool, id, key, content, bring = std::move(bring)] {
    os::LowerThreadPriority();
    const absl::Status brought = BringTo(pool, id, content, bring);
    if (!brought.ok()) LogWarning("the bytes of volume '{}': {}", key, MessageOf(brought));
    const MutexLock lock(mutex_);
    if (!brought.ok()) failures_[key] = brought;
    ++arrivals_[brought.code()];
    End(key, arriving_);
  };
  MutexLock lock(mutex_);
  absl::Status before;
  if (const auto failed = failures_.extract(key)) before = failed.mapped();
  if (!Start(key, kMostArriving, arriving_, work)) {
    return Unavailable("as many volumes arrive on this node as it takes at once");
  }
  const bool ended = ended_.WaitFor(lock, kMoment, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !arriving_.contains(key);
  });
  if (!ended) return before;
  const auto failed = failures_.find(key);
  return failed == failures_.end() ? absl::OkStatus() : failed->second;
}

absl::Status ContentTransfers::BringTo(pool::Pool& pool, const VolumeId& id, const Content& content,
                                       const Bring& bring) {
  std::unique_ptr<pool::ImageWriter> image;
  {
    ASSIGN_OR_RETURN(const auto lock, LockFor(volume_locks_, id));
    ASSIGN_OR_RETURN(image, pool.WriteContent(id, content.version));
  }
  if (image->kept() > 0) ++continued_;
  ArrivingVolume volume(pool, volume_locks_, id, content, std::move(image), arriving_limit_);
  return bring(volume);
}

absl::Status ContentTransfers::Send(const std::string& ticket,
                                    std::unique_ptr<ContentReader> reader) {
  if (!link_.send) {
    return MakeStatus(absl::StatusCode::kUnimplemented, "this process has no link to a controller");
  }
  const std::shared_ptr<ContentReader> source = Limited(std::move(reader), sending_limit_);
  const auto work = [this, ticket, source] {
    os::LowerThreadPriority();
    const absl::Status sent = link_.send(ticket, *source);
    if (!sent.ok()) LogWarning("a transfer to another node: {}", MessageOf(sent));
    const MutexLock lock(mutex_);
    ++dispatches_[sent.code()];
    End(ticket, sending_);
  };
  const MutexLock lock(mutex_);
  if (Start(ticket, kMostSending, sending_, work)) return absl::OkStatus();
  return Unavailable("this node sends as many snapshots as it can; try again");
}

TransferFigures ContentTransfers::Arriving() const {
  const MutexLock lock(mutex_);
  return {.running = arriving_.size(),
          .bytes = arriving_limit_.taken(),
          .continued = continued_.load(),
          .ended = arrivals_};
}

TransferFigures ContentTransfers::Sending() const {
  const MutexLock lock(mutex_);
  return {.running = sending_.size(),
          .bytes = sending_limit_.taken(),
          .continued = 0,
          .ended = dispatches_};
}

// Whether it is under way now.
bool ContentTransfers::Start(const std::string& key, int most,
                             std::map<std::string, std::thread>& running,
                             std::function<void()> work) {
  JoinEnded();
  if (running.contains(key)) return true;
  if (ending_ || running.size() >= static_cast<std::size_t>(most)) return false;
  auto thread = StartThread(std::move(work));
  if (!thread.ok()) {
    LogWarning("{}", MessageOf(thread.status()));
    return false;
  }
  running.emplace(key, *std::move(thread));
  return true;
}

void ContentTransfers::End(const std::string& key, std::map<std::string, std::thread>& running) {
  ::malloc_trim(0);  // the heap has grown by some pieces
  const auto found = running.find(key);
  over_.push_back(std::move(found->second));
  running.erase(found);
  ended_.NotifyAll();
}

void ContentTransfers::JoinEnded() {
  for (std::thread& thread : over_) thread.join();
  over_.clear();
}

}  // namespace holdfast::controller
