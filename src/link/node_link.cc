// SPDX-License-Identifier: Apache-2.0
#include "link/node_link.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "core/log.h"

namespace holdfast::link {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{200};
constexpr milliseconds kLongestPause{5000};
constexpr milliseconds kMeasureInterval{500};
// Smaller than any volume, larger than what a log file grows by: told less often, or thousands of
// nodes would tell it all the time.
constexpr std::int64_t kTrifle = 1 << 20;
constexpr milliseconds kTrifleInterval{10'000};
constexpr int kKeepaliveMs = 10'000;  // a dead path is noticed within this and the next
constexpr int kKeepaliveTimeoutMs = 5'000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Our own pauses rule; gRPC's would come on top.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

// Between half of it and all: thousands of nodes must not come back at one moment.
milliseconds Scatter(milliseconds pause) {
  static thread_local std::minstd_rand random(std::random_device{}());
  return milliseconds(
      std::uniform_int_distribution<std::int64_t>(pause.count() / 2, pause.count())(random));
}

bool ChangesSpace(const v1::Command& command) {
  switch (command.request_case()) {
    case v1::Command::kCreateVolume:
    case v1::Command::kDeleteVolume:
    case v1::Command::kExpandVolume:
      return true;
    default:
      return false;
  }
}

bool DiffersBy(std::int64_t least, const v1::Room& a, const v1::Room& b) {
  return std::abs(a.available() - b.available()) >= least ||
         std::abs(a.maximum_volume() - b.maximum_volume()) >= least ||
         a.minimum_volume() != b.minimum_volume();
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

struct NodeLink::Wire {
  using Stream = grpc::ClientReaderWriter<v1::FromNode, v1::ToNode>;

  Wire(const std::string& controller, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : channel(grpc::CreateCustomChannel(controller, credentials, Arguments())),
        stub(v1::Link::NewStub(channel)),
        stream(stub->Connect(&context)) {}

  bool Write(const v1::FromNode& message) {
    const std::lock_guard lock(mutex);
    return !closed && stream->Write(message);
  }

  // After a Read that failed: then the status says why, at once.
  grpc::Status Close() {
    const std::lock_guard lock(mutex);
    closed = true;
    return stream->Finish();
  }

  grpc::ClientContext context;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Link::Stub> stub;
  std::unique_ptr<Stream> stream;
  std::mutex mutex;     // one writer at a time, and none after the end
  bool closed = false;  // guarded by mutex
  std::size_t described_pools = 0;  // by Register
};

NodeLink::NodeLink(std::string controller, std::shared_ptr<grpc::ChannelCredentials> credentials,
                   NodeWork work)
    : controller_(std::move(controller)),
      credentials_(std::move(credentials)),
      work_(std::move(work)),
      thread_([this] { Run(); }) {}

NodeLink::~NodeLink() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (wire_ != nullptr) wire_->context.TryCancel();
    changed_.notify_all();
  }
  thread_.join();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return running_ == 0; });
}

void NodeLink::Run() {
  milliseconds pause = kFirstPause;
  std::string last_failure;
  do {
    bool was_up = false;
    const grpc::Status ended = Connect(was_up);
    if (was_up) pause = kFirstPause;
    // A controller that stays away is reported once, not at every attempt.
    if (was_up || ended.error_message() != last_failure) {
      LogWarning("no link to the controller at {}: {}", controller_, ended.error_message());
    }
    last_failure = ended.error_message();
    const milliseconds scattered = Scatter(pause);
    pause = std::min(2 * pause, kLongestPause);
    if (!Pause(scattered)) return;
  } while (true);
}

grpc::Status NodeLink::Connect(bool& was_up) {
  const auto wire = std::make_shared<Wire>(controller_, credentials_);
  {
    const std::lock_guard lock(mutex_);
    if (ending_) wire->context.TryCancel();
    wire_ = wire;
  }
  wire->described_pools = work_.count_pools();
  v1::FromNode hello;
  *hello.mutable_register_() = work_.describe();
  v1::ToNode challenge;
  if (wire->Write(hello) && wire->stream->Read(&challenge)) {
    v1::FromNode proof;
    proof.mutable_proof()->set_nonce(challenge.challenge().nonce());
    was_up = wire->Write(proof) && NameVolumes(*wire);
    ReadCommands(wire);
  }
  {
    const std::lock_guard lock(mutex_);
    wire_ = nullptr;
    changed_.notify_all();
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

void NodeLink::ReadCommands(const std::shared_ptr<Wire>& wire) {
  LogInfo("linked to the controller at {}", controller_);
  std::thread pusher([this, wire] { PushPools(*wire); });
  for (v1::ToNode message; wire->stream->Read(&message);) {
    if (message.has_command()) StartCommand(wire, message.command());
  }
  {
    const std::lock_guard lock(mutex_);
    wire_ = nullptr;
    changed_.notify_all();
  }
  pusher.join();
}

void NodeLink::StartCommand(const std::shared_ptr<Wire>& wire, const v1::Command& command) {
  {
    const std::lock_guard lock(mutex_);
    if (running_ < kMaxCommands) {
      ++running_;
      std::thread([this, wire, command] { Answer(*wire, command); }).detach();
      return;
    }
  }
  v1::FromNode refusal;
  refusal.mutable_result()->set_id(command.id());
  refusal.mutable_result()->set_code(static_cast<int>(absl::StatusCode::kUnavailable));
  refusal.mutable_result()->set_message("the node is busy with other commands; try again");
  wire->Write(refusal);
}

void NodeLink::Answer(Wire& wire, const v1::Command& command) {
  v1::FromNode message;
  *message.mutable_result() = work_.carry_out(command);
  message.mutable_result()->set_id(command.id());
  if (ChangesSpace(command)) {
    // Ahead of the result: who hears of the volume sees the space that it left.
    v1::FromNode pools;
    *pools.mutable_pools() = work_.measure();
    wire.Write(pools);
  }
  wire.Write(message);
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

// Space also changes without commands: thin volumes fill, other programs write beside the pool.
void NodeLink::PushPools(Wire& wire) {
  v1::Pools told;
  auto told_at = std::chrono::steady_clock::now();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kMeasureInterval,
                            [&] { return ending_ || wire_.get() != &wire; })) {
        return;
      }
    }
    if (work_.count_pools() != wire.described_pools) {
      LogInfo("a pool is there that was not: connecting again to say which volumes it has");
      wire.context.TryCancel();
      return;
    }
    v1::FromNode message;
    *message.mutable_pools() = work_.measure();
    const auto now = std::chrono::steady_clock::now();
    const std::int64_t least = now - told_at < kTrifleInterval ? kTrifle : 1;
    if (!DiffersBy(least, told, message.pools())) continue;
    if (!wire.Write(message)) return;
    told = message.pools();
    told_at = now;
  }
}

bool NodeLink::Pause(milliseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return ending_; });
}

}  // namespace holdfast::link
