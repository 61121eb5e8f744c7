// SPDX-License-Identifier: Apache-2.0
#include "pool/awaited_pool.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include "core/log.h"

namespace holdfast::pool {
namespace {

using Clock = std::chrono::steady_clock;

// The name space of volumes of a pool whose id is not known; such a volume is never made.
constexpr char kNoPool[] = "00000000-0000-0000-0000-000000000000";

}  // namespace

struct AwaitedPool::Keeper {
  Keeper(PoolInfo info, Source from, Times patience)
      : known(std::move(info)), source(std::move(from)), times(patience) {}

  void Run();
  absl::StatusOr<std::unique_ptr<Pool>> Attempt(bool first);
  void NoteOpened(bool first, const absl::Status& status);
  void Serve(std::unique_ptr<Pool> made);
  void Report(const absl::Status& failed);
  void Answer(std::unique_lock<std::mutex>& lock);

  const PoolInfo known;
  const Source source;
  const Times times;
  const Clock::time_point started = Clock::now();
  std::unique_ptr<Pool> pool;           // set once, before `opened`
  std::atomic<Pool*> opened = nullptr;  // then it is served

  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;                   // guarded by mutex, like all below
  bool busy = true;                        // with an attempt or an answer, which may never end
  bool tried = false;                      // the first attempt has ended, well or not
  std::optional<absl::Status> first_open;  // how it went with opening
  absl::Status problem;                    // of the last attempt
  bool asked = false;                      // CheckReady wants an answer
  bool overdue = false;                    // and one call has waited for it in vain
  std::uint64_t answers = 0;
  absl::Status ready;  // the last answer
};

void AwaitedPool::Keeper::Run() {
  std::unique_lock lock(mutex);
  for (bool first = true; opened.load() == nullptr; first = false) {
    busy = true;
    lock.unlock();
    absl::StatusOr<std::unique_ptr<Pool>> attempt = Attempt(first);
    lock.lock();
    busy = false;
    tried = true;
    if (attempt.ok()) {
      Serve(*std::move(attempt));
    } else {
      Report(attempt.status());
    }
    changed.notify_all();
    const auto is_stopping = [this] { return stopping; };
    if (!attempt.ok() && changed.wait_for(lock, times.retry, is_stopping)) return;
  }
  while (!stopping) {
    changed.wait(lock, [this] { return stopping || asked; });
    if (asked && !stopping) Answer(lock);
  }
}

absl::StatusOr<std::unique_ptr<Pool>> AwaitedPool::Keeper::Attempt(bool first) {
  try {
    absl::StatusOr<std::unique_ptr<Pool>> made = source.open(first);
    NoteOpened(first, made.status());
    if (!made.ok()) return made;
    const absl::Status recovered = (*made)->Recover();
    if (!recovered.ok()) return recovered;
    return made;
  } catch (const std::exception& error) {
    const absl::Status failed = Internal("unexpected failure: {}", error.what());
    NoteOpened(first, failed);
    return failed;
  }
}

void AwaitedPool::Keeper::NoteOpened(bool first, const absl::Status& status) {
  const std::lock_guard lock(mutex);
  if (first && !first_open) first_open = status;
  changed.notify_all();
}

void AwaitedPool::Keeper::Serve(std::unique_ptr<Pool> made) {
  pool = std::move(made);
  LogInfo("pool '{}' is served", known.name);
  problem = absl::OkStatus();
  opened.store(pool.get(), std::memory_order_release);
}

// Once for each reason, not at every attempt.
void AwaitedPool::Keeper::Report(const absl::Status& failed) {
  if (problem == failed) return;
  problem = failed;
  LogWarning("pool '{}' cannot be served: {}", known.name, MessageOf(failed));
}

void AwaitedPool::Keeper::Answer(std::unique_lock<std::mutex>& lock) {
  asked = false;
  busy = true;
  lock.unlock();
  absl::Status answer = pool->CheckReady();
  lock.lock();
  busy = false;
  ready = std::move(answer);
  overdue = false;
  ++answers;
  changed.notify_all();
}

AwaitedPool::AwaitedPool(PoolInfo known, Source source, Times times)
    : keeper_(std::make_shared<Keeper>(std::move(known), std::move(source), times)),
      thread_([keeper = keeper_] { keeper->Run(); }) {}

AwaitedPool::~AwaitedPool() {
  bool hangs = false;
  {
    std::unique_lock lock(keeper_->mutex);
    keeper_->stopping = true;
    keeper_->changed.notify_all();
    hangs =
        !keeper_->changed.wait_for(lock, keeper_->times.check, [this] { return !keeper_->busy; });
  }
  if (hangs) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

const PoolInfo& AwaitedPool::info() const {
  const Pool* const pool = keeper_->opened.load(std::memory_order_acquire);
  return pool == nullptr ? keeper_->known : pool->info();
}

absl::StatusOr<Pool*> AwaitedPool::Opened() const {
  Pool* const pool = keeper_->opened.load(std::memory_order_acquire);
  if (pool != nullptr) return pool;
  const std::lock_guard lock(keeper_->mutex);
  if (keeper_->pool != nullptr) return keeper_->pool.get();
  if (!keeper_->tried) {
    return Unavailable("pool '{}' is not served yet: it is being opened, or does not answer",
                       keeper_->known.name);
  }
  return Unavailable("pool '{}' is not served: {}", keeper_->known.name,
                     MessageOf(keeper_->problem));
}

absl::Status AwaitedPool::WaitUntilOpened() {
  Keeper& keeper = *keeper_;
  std::unique_lock lock(keeper.mutex);
  const auto until = keeper.started + keeper.times.start;
  if (!keeper.changed.wait_until(lock, until, [&] { return keeper.first_open.has_value(); })) {
    LogWarning("pool '{}' does not answer: the start goes on without it", keeper.known.name);
    return absl::OkStatus();
  }
  const absl::Status& opened = *keeper.first_open;
  if (absl::IsInvalidArgument(opened) || absl::IsAborted(opened)) return opened;
  if (opened.ok() || !keeper.known.id.empty()) return absl::OkStatus();
  return WithCode(opened, absl::StatusCode::kNotFound);
}

absl::Status AwaitedPool::Recover() {
  Keeper& keeper = *keeper_;
  std::unique_lock lock(keeper.mutex);
  const auto until = keeper.started + keeper.times.start;
  if (!keeper.changed.wait_until(lock, until, [&] { return keeper.tried; })) {
    LogWarning("the volumes of pool '{}' are not counted yet: the start goes on without it",
               keeper.known.name);
  }
  return absl::OkStatus();
}

absl::Status AwaitedPool::CheckReady() {
  RETURN_IF_ERROR(Opened().status());
  Keeper& keeper = *keeper_;
  std::unique_lock lock(keeper.mutex);
  const std::uint64_t before = keeper.answers;
  keeper.asked = true;
  keeper.changed.notify_all();
  // One call finds out that the pool hangs; the next ones need not.
  if (!keeper.overdue) {
    keeper.changed.wait_for(lock, keeper.times.check, [&] { return keeper.answers > before; });
  }
  if (keeper.answers > before) return keeper.ready;
  keeper.overdue = true;
  return Unavailable("pool '{}' does not answer: its disk may have failed", keeper.known.name);
}

absl::StatusOr<std::vector<Leftover>> AwaitedPool::FindLeftovers() {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->FindLeftovers();
}

absl::StatusOr<bool> AwaitedPool::Repair(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->Repair(id);
}

VolumeId AwaitedPool::IdForName(const std::string& name) const {
  const Pool* const pool = keeper_->opened.load(std::memory_order_acquire);
  if (pool != nullptr) return pool->IdForName(name);
  const PoolInfo& known = keeper_->known;
  return {known.name, known.node, *UuidOfName(known.id.empty() ? kNoPool : known.id, name)};
}

absl::StatusOr<Volume> AwaitedPool::Create(const VolumeSpec& spec) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->Create(spec);
}

absl::Status AwaitedPool::Delete(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->Delete(id);
}

absl::StatusOr<Volume> AwaitedPool::Get(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->Get(id);
}

absl::StatusOr<std::vector<Volume>> AwaitedPool::List(const std::string& after_uuid,
                                                      std::size_t limit) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->List(after_uuid, limit);
}

absl::StatusOr<Volume> AwaitedPool::Grow(const VolumeId& id, Bytes required, Bytes limit) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->Grow(id, required, limit);
}

absl::StatusOr<PoolCapacity> AwaitedPool::GetCapacity(Provisioning provisioning) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->GetCapacity(provisioning);
}

absl::StatusOr<PoolUsage> AwaitedPool::GetUsage() {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->GetUsage();
}

VolumeCondition AwaitedPool::Condition(const Volume& volume) {
  const auto pool = Opened();
  if (!pool.ok()) return {.abnormal = true, .message = MessageOf(pool.status())};
  return (*pool)->Condition(volume);
}

absl::Status AwaitedPool::PublishTo(const VolumeId& id, const std::string& node, AccessMode mode) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->PublishTo(id, node, mode);
}

absl::Status AwaitedPool::UnpublishFrom(const VolumeId& id, const std::string& node) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->UnpublishFrom(id, node);
}

absl::StatusOr<os::BlockDevice> AwaitedPool::MapDevice(const VolumeId& id, AccessMode mode) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->MapDevice(id, mode);
}

absl::StatusOr<std::optional<os::BlockDevice>> AwaitedPool::FindDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->FindDevice(id);
}

absl::Status AwaitedPool::UnmapDevice(const VolumeId& id) {
  const auto pool = Opened();
  return pool.ok() ? (*pool)->UnmapDevice(id) : keeper_->source.detach(id);
}

absl::StatusOr<std::vector<VolumeId>> AwaitedPool::ListOwnDevices() {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->ListOwnDevices();
}

absl::Status AwaitedPool::UnmapOwnDevice(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->UnmapOwnDevice(id);
}

absl::Status AwaitedPool::StartFormatting(const VolumeId& id, const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->StartFormatting(id, filesystem_uuid);
}

absl::Status AwaitedPool::FinishFormatting(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->FinishFormatting(id);
}

absl::StatusOr<std::string> AwaitedPool::FormattedUuid(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->FormattedUuid(id);
}

absl::Status AwaitedPool::ZeroVolume(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->ZeroVolume(id);
}

}  // namespace holdfast::pool
