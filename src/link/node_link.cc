// SPDX-License-Identifier: Apache-2.0
#include "link/node_link.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "core/log.h"
#include "core/mutex.h"
#include "core/start_thread.h"
#include "link/channel.h"

namespace holdfast::link {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{200};
constexpr milliseconds kLongestPause{5000};
constexpr milliseconds kMeasureInterval{500};
// By then the controller has answered, or another attempt is better.
constexpr std::chrono::seconds kDialTime{20};
// An old stream stays so long beside the new one: until the controller has read its proof.
constexpr std::chrono::seconds kOverlap{5};
// No command with a waiting caller takes longer.
constexpr std::chrono::seconds kLongestDrain{60};
// Smaller than any volume, larger than the growth of a log file: reported less often, or thousands
// of nodes would report it all the time.
constexpr std::int64_t kMinReportedChange = 1 << 20;
constexpr milliseconds kSmallChangeInterval{10'000};

// Between half of it and all: thousands of nodes must not come back at one moment.
milliseconds Jittered(milliseconds pause) {
  static thread_local std::minstd_rand random(std::random_device{}());
  return milliseconds(
      std::uniform_int_distribution<std::int64_t>(pause.count() / 2, pause.count())(random));
}

bool DiffersBy(std::int64_t least, const csi::v1::GetCapacityResponse& a,
               const csi::v1::GetCapacityResponse& b) {
  return std::abs(a.available_capacity() - b.available_capacity()) >= least ||
         std::abs(a.maximum_volume_size().value() - b.maximum_volume_size().value()) >= least ||
         a.minimum_volume_size().value() != b.minimum_volume_size().value();
}

// Whether anything but sizes differs, or one of these by `least` bytes.
bool DiffersBy(std::int64_t least, const v1::Pool& a, const v1::Pool& b) {
  return a.name() != b.name() || a.id() != b.id() || a.problem() != b.problem() ||
         a.default_filesystem() != b.default_filesystem() ||
         DiffersBy(least, a.thick(), b.thick()) || DiffersBy(least, a.thin(), b.thin());
}

bool DiffersBy(std::int64_t least, const v1::Pools& a, const v1::Pools& b) {
  return !std::ranges::equal(a.pools(), b.pools(), [&](const v1::Pool& x, const v1::Pool& y) {
    return !DiffersBy(least, x, y);
  });
}

}  // namespace

// Its stream is ended by its own thread; the fields without a mutex of their own are guarded by the
// link's.
struct NodeLink::Wire {
  using Stream = grpc::ClientReaderWriter<v1::FromNode, v1::ToNode>;
  enum class State { kDialling, kUp, kOver };

  Wire(const std::string& controller, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : channel(NewChannel(controller, credentials)),
        stub(v1::Link::NewStub(channel)),
        stream(stub->Connect(&context)) {}

  bool Write(const v1::FromNode& message) {
    const MutexLock lock(writing);
    return !closed && stream->Write(message);
  }

  // After a Read that failed: then the status says why, at once.
  grpc::Status Close() {
    const MutexLock lock(writing);
    closed = true;
    return stream->Finish();
  }

  grpc::ClientContext context;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Link::Stub> stub;
  std::unique_ptr<Stream> stream;
  Mutex writing;  // one writer at a time, and none after the end
  bool closed ABSL_GUARDED_BY(writing) = false;

  State state = State::kDialling;
  grpc::Status end;  // once it is over
  int running = 0;   // commands
  Clock::time_point retired_at;
  std::thread reader;

  std::size_t described_pools = 0;  // by Register
  v1::Pools told;                   // on the link's thread only, like the next
  Clock::time_point told_at;
};

NodeLink::NodeLink(std::string controller, std::shared_ptr<grpc::ChannelCredentials> credentials,
                   NodeWork work, milliseconds renewal)
    : controller_(std::move(controller)),
      credentials_(std::move(credentials)),
      work_(std::move(work)),
      renewal_(renewal),
      thread_(StartThreadOrThrow([this] { Run(); })) {}

NodeLink::~NodeLink() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    if (current_ != nullptr) current_->context.TryCancel();
    for (const auto& wire : retired_) wire->context.TryCancel();
    changed_.NotifyAll();
  }
  thread_.join();
  MutexLock lock(mutex_);
  changed_.Wait(lock, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_ == 0; });
}

void NodeLink::Run() {
  milliseconds pause = kFirstPause;
  std::string last_failure;
  while (!IsEnding()) {
    grpc::Status refusal;
    if (const auto wire = Dial(refusal)) {
      pause = kFirstPause;
      last_failure.clear();
      Replace(wire);
      Hold(Clock::now() + Jittered(renewal_));
      if (IsLinked()) continue;  // it is time for a new stream
    } else if (refusal.error_message() != last_failure) {
      // A controller that stays away is reported once, not at every attempt.
      LogWarning("{} to the controller at {}: {}", IsLinked() ? "no new link" : "no link",
                 controller_, refusal.error_message());
      last_failure = refusal.error_message();
    }
    const auto until = Clock::now() + Jittered(pause);
    pause = std::min(2 * pause, kLongestPause);
    while (!IsEnding() && Clock::now() < until) Hold(until);
  }
  std::vector<std::shared_ptr<Wire>> last;
  {
    const MutexLock lock(mutex_);
    last = std::exchange(retired_, {});
    if (current_ != nullptr) last.push_back(std::exchange(current_, nullptr));
  }
  for (const auto& wire : last) wire->reader.join();
}

bool NodeLink::IsEnding() {
  const MutexLock lock(mutex_);
  return ending_;
}

bool NodeLink::IsLinked() {
  const MutexLock lock(mutex_);
  return current_ != nullptr;
}

// A stream on which the node has proved its identity; null, and the reason, when there is none.
std::shared_ptr<NodeLink::Wire> NodeLink::Dial(grpc::Status& refusal) {
  const auto wire = std::make_shared<Wire>(controller_, credentials_);
  auto reader = StartThread([this, wire] { Serve(wire); });
  if (!reader.ok()) {
    refusal = grpc::Status(grpc::StatusCode::UNAVAILABLE, MessageOf(reader.status()));
    wire->context.TryCancel();
    wire->Close();
    return nullptr;
  }
  wire->reader = *std::move(reader);
  MutexLock lock(mutex_);
  const auto decided = [&] { return wire->state != Wire::State::kDialling; };
  if (!changed_.WaitFor(
          lock, kDialTime,
          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_ || decided(); }) ||
      ending_) {
    wire->context.TryCancel();
    changed_.Wait(lock, decided);
  }
  if (wire->state == Wire::State::kUp) return wire;
  refusal = wire->end;
  lock.Unlock();
  wire->reader.join();
  return nullptr;
}

void NodeLink::Replace(const std::shared_ptr<Wire>& wire) {
  const MutexLock lock(mutex_);
  if (ending_) wire->context.TryCancel();
  const auto old = std::exchange(current_, wire);
  if (old == nullptr) {
    work_.note_link(true);
    return LogInfo("linked to the controller at {}", controller_);
  }
  old->retired_at = Clock::now();
  retired_.push_back(old);
  LogInfo("the link to the controller at {} is renewed", controller_);
}

// Until then, or until the current stream is over: space also changes without commands, as thin
// volumes fill and other programs write beside the pool.
void NodeLink::Hold(Clock::time_point until) {
  while (true) {
    EndRetired();
    std::shared_ptr<Wire> wire;
    {
      MutexLock lock(mutex_);
      wire = current_;
      const auto over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ending_ || (wire != nullptr && wire->state == Wire::State::kOver);
      };
      const auto next = std::min(until, Clock::now() + kMeasureInterval);
      if (changed_.WaitUntil(lock, next, over)) {
        if (ending_) return;
        current_ = nullptr;
        work_.note_link(false);
      }
    }
    if (wire != nullptr && !IsLinked()) {
      wire->reader.join();
      LogWarning("no link to the controller at {}: {}", controller_, wire->end.error_message());
      return;
    }
    if (Clock::now() >= until) return;
    if (wire == nullptr) continue;
    if (work_.count_pools() != wire->described_pools) {
      LogInfo("another pool is there now: the link is renewed to say which volumes it has");
      return;
    }
    PushPools(*wire);
  }
}

// A controller that has the new stream, too, ends the old one itself. Another one does not know.
void NodeLink::EndRetired() {
  std::vector<std::shared_ptr<Wire>> over;
  {
    const MutexLock lock(mutex_);
    std::erase_if(retired_, [&](const std::shared_ptr<Wire>& wire) {
      if (wire->state == Wire::State::kOver) {
        over.push_back(wire);
        return true;
      }
      const auto age = Clock::now() - wire->retired_at;
      if (age > kOverlap && (wire->running == 0 || age > kLongestDrain)) wire->context.TryCancel();
      return false;
    });
  }
  for (const auto& wire : over) wire->reader.join();
}

void NodeLink::Serve(const std::shared_ptr<Wire>& wire) {
  const grpc::Status end = ReadCommands(wire);
  const MutexLock lock(mutex_);
  wire->state = Wire::State::kOver;
  wire->end = end;
  changed_.NotifyAll();
}

grpc::Status NodeLink::ReadCommands(const std::shared_ptr<Wire>& wire) {
  wire->described_pools = work_.count_pools();
  v1::FromNode hello;
  *hello.mutable_register_() = work_.describe();
  hello.mutable_register_()->set_renews(IsLinked());
  v1::ToNode message;
  if (!wire->Write(hello) || !wire->stream->Read(&message)) return wire->Close();
  v1::FromNode proof;
  proof.mutable_proof()->set_nonce(message.challenge().nonce());
  if (wire->Write(proof) && NameVolumes(*wire)) {
    const MutexLock lock(mutex_);
    wire->state = Wire::State::kUp;
    changed_.NotifyAll();
  }
  while (wire->stream->Read(&message)) {
    if (message.has_command()) StartCommand(wire, message.command());
  }
  return wire->Close();
}

bool NodeLink::NameVolumes(Wire& wire) {
  bool sent = true;
  work_.name_volumes([&](const v1::Volumes& part) {
    v1::FromNode message;
    *message.mutable_volumes() = part;
    sent = wire.Write(message);
    return sent;
  });
  v1::FromNode last;
  last.mutable_volumes()->set_last(true);
  return sent && wire.Write(last);
}

void NodeLink::StartCommand(const std::shared_ptr<Wire>& wire, const v1::Command& command) {
  std::string refusal = "the node is busy with other commands; try again";
  {
    const MutexLock lock(mutex_);
    if (running_ < kMaxCommands) {
      auto thread = StartThread([this, wire, command] { Answer(*wire, command); });
      if (thread.ok()) {
        thread->detach();
        ++running_;
        ++wire->running;
        return;
      }
      refusal = MessageOf(thread.status());
    }
  }
  v1::FromNode message;
  message.mutable_result()->set_id(command.id());
  message.mutable_result()->set_code(static_cast<int>(absl::StatusCode::kUnavailable));
  message.mutable_result()->set_message(refusal);
  wire->Write(message);
}

void NodeLink::Answer(Wire& wire, const v1::Command& command) {
  v1::FromNode message;
  *message.mutable_result() = work_.carry_out(command);
  message.mutable_result()->set_id(command.id());
  if (work_.changes_space(command.method())) {
    // Ahead of the result: a caller that knows of the volume sees the space that it left.
    v1::FromNode pools;
    *pools.mutable_pools() = work_.measure();
    wire.Write(pools);
  }
  wire.Write(message);
  const MutexLock lock(mutex_);
  --running_;
  --wire.running;
  changed_.NotifyAll();
}

void NodeLink::PushPools(Wire& wire) {
  v1::FromNode message;
  *message.mutable_pools() = work_.measure();
  const auto now = Clock::now();
  const std::int64_t least = now - wire.told_at < kSmallChangeInterval ? kMinReportedChange : 1;
  if (!DiffersBy(least, wire.told, message.pools())) return;
  if (!wire.Write(message)) return;
  wire.told = message.pools();
  wire.told_at = now;
}

}  // namespace holdfast::link
