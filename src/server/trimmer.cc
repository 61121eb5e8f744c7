// SPDX-License-Identifier: Apache-2.0
#include "server/trimmer.h"

#include <exception>
#include <random>
#include <utility>

#include "core/log.h"
#include "core/start_thread.h"
#include "server/trim_pace.h"

namespace holdfast::server {
namespace {

using Steady = std::chrono::steady_clock;

// While a call has the volume: how long to wait, and how often, until it is left for this round.
constexpr std::chrono::seconds kBusyRest{1};
constexpr int kBusyRests = 60;

std::chrono::milliseconds SomePartOf(std::chrono::milliseconds interval) {
  std::minstd_rand chance(std::random_device{}());
  return std::chrono::milliseconds(
      std::uniform_int_distribution<std::int64_t>(0, interval.count())(chance));
}

}  // namespace

// Shared with a thread that may hang, so that nothing has to wait for that thread.
struct Trimmer::Piece {
  std::string volume_id{};
  // What the look found; a step needs it.
  std::optional<node::TrimCandidate> candidate{};
  bool is_look = true;
  Bytes from = 0;
  Bytes size = 0;

  bool is_busy = false;  // a call had the volume
  Steady::duration took{};
  absl::Status status{};
  node::TrimStep step{};
};

void Trimmer::Start(std::chrono::milliseconds interval) {
  is_on_ = true;
  thread_ = StartThreadOrThrow([this, interval] { Run(interval); });
}

void Trimmer::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  for (const pool::Pool* const pool : pools_.all()) {
    while (!work_.Await(pool->info().name).ok()) continue;
  }
}

Trimmer::Figures Trimmer::figures() const {
  const MutexLock lock(mutex_);
  return figures_;
}

std::set<std::string> Trimmer::BusyPools() const {
  std::set<std::string> busy;
  for (const pool::Pool* const pool : pools_.all()) {
    const std::string& name = pool->info().name;
    if (work_.IsUnderWay(name)) busy.insert(name);
  }
  return busy;
}

void Trimmer::Run(std::chrono::milliseconds interval) {
  if (!Rest(SomePartOf(interval))) return;
  auto next = Steady::now();
  do {
    next += interval;
    try {
      Round();
    } catch (const std::exception& error) {
      LogError("trim: unexpected failure: {}", error.what());
    }
    if (next < Steady::now()) next = Steady::now();
  } while (Rest(next - Steady::now()));
}

void Trimmer::Round() {
  const auto ids = state_.stages.VolumeIds();
  if (!ids.ok()) {
    LogWarning("trim: {}", MessageOf(ids.status()));
    return;
  }
  for (const std::string& id : *ids) {
    if (!Rest({})) return;
    TrimOne(id);
  }
  const MutexLock lock(mutex_);
  ++figures_.rounds;
  figures_.last_round = std::chrono::system_clock::now();
}

void Trimmer::TrimOne(const std::string& volume_id) {
  const auto located = pools_.Locate(volume_id);
  if (!located.ok()) return;  // of no pool here; the reconciler deals with that
  const std::string& pool = located->pool->info().name;
  if (work_.IsUnderWay(pool)) return;  // it hangs, as was reported for the first volume
  const auto begun = Steady::now();
  const auto trimmed = TrimInSteps(volume_id, pool);
  const auto seconds = std::chrono::duration<double>(Steady::now() - begun).count();
  if (trimmed.ok()) {
    LogInfo("trimmed volume {}: {} of free space, in {:.1f} s", volume_id, FormatBytes(*trimmed),
            seconds);
    CountVolume(true);
  } else if (absl::IsNotFound(trimmed.status()) || absl::IsUnimplemented(trimmed.status())) {
    LogMessage(LogLevel::kDebug,
               fmt::format("trim of volume {}: {}", volume_id, MessageOf(trimmed.status())));
  } else if (!absl::IsCancelled(trimmed.status())) {
    LogWarning("trim of volume {}: {}", volume_id, MessageOf(trimmed.status()));
    CountVolume(false);
  }
}

absl::StatusOr<Bytes> Trimmer::TrimInSteps(const std::string& volume_id, const std::string& pool) {
  const auto look = std::make_shared<Piece>();
  look->volume_id = volume_id;
  // A pool that does not answer is reported elsewhere.
  RETURN_IF_ERROR(WithCode(RunPiece(pool, look), absl::StatusCode::kNotFound));
  if (!look->candidate) return MakeStatus(absl::StatusCode::kUnimplemented, "thick or raw block");
  TrimPace pace;
  Bytes trimmed = 0;
  int busy = 0;
  for (std::optional<Bytes> from = 0; from;) {
    const auto piece = std::make_shared<Piece>();
    piece->candidate = look->candidate;
    piece->is_look = false;
    piece->from = *from;
    piece->size = pace.step();
    RETURN_IF_ERROR(RunPiece(pool, piece));
    busy = piece->is_busy ? busy + 1 : 0;
    if (busy > kBusyRests) return NotFound("calls are at work on it; left until the next round");
    if (!piece->is_busy) {
      trimmed += piece->step.trimmed;
      from = piece->step.next;
    }
    if (!Rest(piece->is_busy ? kBusyRest : pace.RestAfter(piece->took))) {
      return MakeStatus(absl::StatusCode::kCancelled, "stopping");
    }
  }
  return trimmed;
}

absl::Status Trimmer::RunPiece(const std::string& pool, const std::shared_ptr<Piece>& piece) {
  RETURN_IF_ERROR(work_.Run(pool, "a step of the trim", [this, piece] { WorkOn(*piece); }));
  return piece->status;
}

void Trimmer::WorkOn(Piece& piece) {
  if (piece.is_look) {
    auto candidate = node::FindTrimCandidate(pools_, piece.volume_id);
    piece.status = candidate.status();
    if (candidate.ok()) piece.candidate = *std::move(candidate);
    return;
  }
  const auto lock =
      volume_locks_.TryLockInBackground(piece.candidate->volume_id, "a step of the trim");
  piece.is_busy = !lock.has_value();
  if (piece.is_busy) {
    const MutexLock guard(mutex_);
    ++figures_.put_off;
    return;
  }
  const auto begun = Steady::now();
  const auto step = node::TrimVolume(*piece.candidate, state_.stages, piece.from, piece.size);
  piece.took = Steady::now() - begun;
  piece.status = step.status();
  if (!step.ok()) return;
  piece.step = *step;
  Count(step->trimmed);
}

void Trimmer::Count(Bytes trimmed) {
  const MutexLock lock(mutex_);
  figures_.trimmed_bytes += static_cast<std::uint64_t>(trimmed);
}

void Trimmer::CountVolume(bool done) {
  const MutexLock lock(mutex_);
  ++(done ? figures_.done : figures_.failed);
}

bool Trimmer::Rest(std::chrono::steady_clock::duration time) {
  MutexLock lock(mutex_);
  return !stopped_.WaitFor(lock, time,
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; });
}

}  // namespace holdfast::server
