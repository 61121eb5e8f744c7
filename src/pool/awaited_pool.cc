// SPDX-License-Identifier: Apache-2.0
#include "pool/awaited_pool.h"

#include <atomic>
#include <exception>
#include <optional>

#include "core/log.h"
#include "core/mutex.h"

namespace holdfast::pool {
namespace {

using Clock = std::chrono::steady_clock;

// The name space of ids while the pool's id is unknown; no volume ever gets such an id.
constexpr char kNoPool[] = "00000000-0000-0000-0000-000000000000";

}  // namespace

struct AwaitedPool::Keeper {
  Keeper(PoolInfo info, Source from, Times patience)
      : known(std::move(info)), source(std::move(from)), times(patience) {}

  void Run();
  absl::StatusOr<std::unique_ptr<Pool>> Attempt(bool first);
  void NoteOpened(bool first, const absl::Status& status);
  void Serve(std::unique_ptr<Pool> made) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void Report(const absl::Status& failed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void Keep(absl::Status answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const PoolInfo known;
  const Source source;
  const Times times;
  const Clock::time_point started = Clock::now();
  std::unique_ptr<Pool> pool;           // set once, before `opened`
  std::atomic<Pool*> opened = nullptr;  // then it is served

  Mutex mutex;
  CondVar changed;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  bool busy ABSL_GUARDED_BY(mutex) = true;    // with an attempt or an answer, which may never end
  bool tried ABSL_GUARDED_BY(mutex) = false;  // the first attempt has ended, well or not
  std::optional<absl::Status> first_open ABSL_GUARDED_BY(mutex);  // how it went with opening
  absl::Status problem ABSL_GUARDED_BY(mutex);                    // of the last attempt
  bool asked ABSL_GUARDED_BY(mutex) = false;                      // CheckReady wants an answer
  bool overdue ABSL_GUARDED_BY(mutex) = false;  // and one call has given up waiting for it
  std::uint64_t answers ABSL_GUARDED_BY(mutex) = 0;
  absl::Status ready ABSL_GUARDED_BY(mutex);  // the last answer
};

void AwaitedPool::Keeper::Run() {
  MutexLock lock(mutex);
  for (bool first = true; opened.load() == nullptr; first = false) {
    busy = true;
    lock.Unlock();
    absl::StatusOr<std::unique_ptr<Pool>> attempt = Attempt(first);
    lock.Lock();
    busy = false;
    tried = true;
    if (attempt.ok()) {
      Serve(*std::move(attempt));
    } else {
      Report(attempt.status());
    }
    changed.NotifyAll();
    const auto is_stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return stopping; };
    if (!attempt.ok() && changed.WaitFor(lock, times.retry, is_stopping)) return;
  }
  while (true) {
    changed.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return stopping || asked; });
    if (stopping) return;
    asked = false;
    busy = true;
    lock.Unlock();
    absl::Status answer = pool->CheckReady();
    lock.Lock();
    Keep(std::move(answer));
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
  const MutexLock lock(mutex);
  if (first && !first_open) first_open = status;
  changed.NotifyAll();
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

void AwaitedPool::Keeper::Keep(absl::Status answer) {
  busy = false;
  ready = std::move(answer);
  overdue = false;
  ++answers;
  changed.NotifyAll();
}

AwaitedPool::AwaitedPool(PoolInfo known, Source source, Times times)
    : keeper_(std::make_shared<Keeper>(std::move(known), std::move(source), times)),
      thread_([keeper = keeper_] { keeper->Run(); }) {}

AwaitedPool::~AwaitedPool() {
  bool hangs = false;
  {
    MutexLock lock(keeper_->mutex);
    keeper_->stopping = true;
    keeper_->changed.NotifyAll();
    hangs = !keeper_->changed.WaitFor(
        lock, keeper_->times.check,
        [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(keeper_->mutex) { return !keeper_->busy; });
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
  const MutexLock lock(keeper_->mutex);
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
  MutexLock lock(keeper.mutex);
  const auto until = keeper.started + keeper.times.start;
  if (!keeper.changed.WaitUntil(lock, until, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(keeper.mutex) {
        return keeper.first_open.has_value();
      })) {
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
  MutexLock lock(keeper.mutex);
  const auto until = keeper.started + keeper.times.start;
  if (!keeper.changed.WaitUntil(lock, until, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(keeper.mutex) {
        return keeper.tried;
      })) {
    LogWarning("the volumes of pool '{}' are not counted yet: the start goes on without it",
               keeper.known.name);
  }
  return absl::OkStatus();
}

absl::StatusOr<Pool*> AwaitedPool::WithCredentials(const Secrets& secrets) {
  const auto pool = Opened();
  if (!pool.ok()) return this;  // each call then says why
  return (*pool)->WithCredentials(secrets);
}

absl::Status AwaitedPool::CheckReady() {
  RETURN_IF_ERROR(Opened().status());
  Keeper& keeper = *keeper_;
  MutexLock lock(keeper.mutex);
  const std::uint64_t before = keeper.answers;
  keeper.asked = true;
  keeper.changed.NotifyAll();
  // One call finds out that the pool hangs; the next ones need not.
  if (!keeper.overdue) {
    keeper.changed.WaitFor(
        lock, keeper.times.check,
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(keeper.mutex) { return keeper.answers > before; });
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

absl::StatusOr<Bytes> AwaitedPool::AllocatedTo(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->AllocatedTo(id);
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

absl::Status AwaitedPool::FinishAdoption(const VolumeId& id) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->FinishAdoption(id);
}

absl::StatusOr<Volume> AwaitedPool::TakeOverFilesystem(const VolumeId& id,
                                                       const std::string& filesystem,
                                                       const std::string& filesystem_uuid) {
  ASSIGN_OR_RETURN(Pool* const pool, Opened());
  return pool->TakeOverFilesystem(id, filesystem, filesystem_uuid);
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
