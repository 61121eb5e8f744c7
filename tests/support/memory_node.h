// SPDX-License-Identifier: Apache-2.0
// A node without bytes: its pool is in memory, its link is a real stream to a hub in this process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "controller/link_commands.h"
#include "controller/service.h"
#include "core/key_lock.h"
#include "link/hub.h"
#include "os/file.h"
#include "support/memory_pool.h"
#include "support/outcome.h"
#include "support/temp_directory.h"

namespace holdfast::test {

inline constexpr char kDriver[] = "csi.holdfast.dev";

// A hub that believes every peer, and the server that has it: without a network.
class MemoryHub final {
 public:
  explicit MemoryHub(const link::Hub::Times& times) : hub_(kDriver, identity_, times) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&hub_.service());
    server_ = builder.BuildAndStart();
  }
  ~MemoryHub() {
    hub_.Stop();
    server_->Shutdown();
  }
  MemoryHub(const MemoryHub&) = delete;
  MemoryHub& operator=(const MemoryHub&) = delete;

  [[nodiscard]] std::shared_ptr<grpc::Channel> Channel() { return server_->InProcessChannel({}); }
  link::Hub& hub() { return hub_; }
  void Refuse(absl::Status status) { identity_.answer = std::move(status); }

 private:
  class Identity final : public link::NodeIdentity {
   public:
    absl::Status Check(const std::vector<std::string>&, const link::v1::Register&) override {
      return answer;
    }
    absl::Status answer;
  };

  Identity identity_;
  link::Hub hub_;
  std::unique_ptr<grpc::Server> server_;
};

inline link::Deadline InOneMinute() {
  return link::Deadline::clock::now() + std::chrono::minutes(1);
}

class MemoryNode final {
 public:
  // The node's answer to a command instead of its service's; empty: it never answers.
  using Answer = std::function<std::optional<link::v1::Result>(const link::v1::Command&)>;

  MemoryNode(MemoryHub& hub, std::string name, std::string pool_id)
      : hub_(hub), name_(std::move(name)) {
    auto pool = std::make_unique<MemoryPool>("default", name_, std::move(pool_id));
    pool_ = pool.get();
    REQUIRE_OK(pools_.Add(std::move(pool)));
    calls_.SetReady();
  }
  ~MemoryNode() { HangUp(); }
  MemoryNode(const MemoryNode&) = delete;
  MemoryNode& operator=(const MemoryNode&) = delete;

  // Registers, proves that it is alive and names its volumes. OK when the hub has it as connected;
  // else the hub's refusal.
  absl::Status Connect() { return Connect(controller::DescribeNode(kDriver, name_, pools_)); }
  absl::Status Connect(const link::v1::Register& description) {
    HangUp();
    context_ = std::make_unique<grpc::ClientContext>();
    stub_ = link::v1::Link::NewStub(hub_.Channel());
    stream_ = stub_->Connect(context_.get());
    link::v1::FromNode frame;
    *frame.mutable_register_() = description;
    link::v1::ToNode challenge;
    if (!stream_->Write(frame) || !stream_->Read(&challenge)) return Finish();
    frame.mutable_proof()->set_nonce(challenge.challenge().nonce());
    if (!stream_->Write(frame)) return Finish();
    controller::NameVolumes(pools_, [&](const link::v1::Volumes& part) {
      *frame.mutable_volumes() = part;
      return stream_->Write(frame);
    });
    frame.mutable_volumes()->Clear();
    frame.mutable_volumes()->set_last(true);
    if (!stream_->Write(frame)) return Finish();
    reader_ = std::thread([this] { AnswerCommands(); });
    return AwaitConnected(true);
  }

  // Reports the current state of its pools.
  void ReportPools(const link::v1::Pools& pools) {
    link::v1::FromNode frame;
    *frame.mutable_pools() = pools;
    Write(frame);
  }
  [[nodiscard]] link::v1::Pools pools() const { return controller::MeasurePools(pools_); }

  // Cuts the stream, as a node that dies does.
  void HangUp() {
    if (stream_ == nullptr) return;
    context_->TryCancel();
    (void)Finish();
    REQUIRE_OK(AwaitConnected(false));
  }

  // Waits until the hub has ended the stream; its reason.
  absl::Status AwaitEnd() {
    reader_.join();
    return Finish();
  }

  void SetAnswer(Answer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  [[nodiscard]] std::vector<link::v1::Command> commands() const {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  MemoryPool& pool() { return *pool_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  absl::Status AwaitConnected(bool connected) {
    const link::Deadline end = InOneMinute();
    while (hub_.hub().Nodes({name_}).empty() == connected) {
      if (link::Deadline::clock::now() > end)
        return Unavailable("node '{}': waited in vain", name_);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (reader_.joinable()) reader_.join();
    const grpc::Status status = stream_->Finish();
    stream_ = nullptr;
    return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  void AnswerCommands() {
    for (link::v1::ToNode message; stream_->Read(&message);) {
      const link::v1::Command& command = message.command();
      Answer answer;
      {
        const std::lock_guard lock(mutex_);
        commands_.push_back(command);
        answer = answer_;
      }
      std::optional<link::v1::Result> result =
          answer ? answer(command) : controller::Execute(service_, command);
      if (!result) continue;
      result->set_id(command.id());
      link::v1::FromNode frame;
      *frame.mutable_result() = *std::move(result);
      Write(frame);
    }
  }

  void Write(const link::v1::FromNode& frame) {
    const std::lock_guard lock(writing_);
    stream_->Write(frame);
  }

  MemoryHub& hub_;
  const std::string name_;
  TempDirectory directory_;
  const state::NodeState state_ =
      Value(state::NodeState::Open(Value(os::OpenDirectory(directory_.path())).get()));
  pool::Pools pools_;
  MemoryPool* pool_ = nullptr;
  KeyLock locks_;
  rpc::CallRunner calls_;
  controller::Service service_{{kDriver, name_, false, pools_, state_, locks_, calls_}};

  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<link::v1::Link::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<link::v1::FromNode, link::v1::ToNode>> stream_;
  std::thread reader_;
  std::mutex writing_;

  mutable std::mutex mutex_;
  Answer answer_;
  std::vector<link::v1::Command> commands_;
};

inline link::v1::Result RefusedWith(absl::StatusCode code, const std::string& message) {
  link::v1::Result result;
  result.set_code(static_cast<int>(code));
  result.set_message(message);
  return result;
}

template <typename Message>
link::v1::Result AnsweredWith(const Message& message) {
  link::v1::Result result;
  result.set_response(message.SerializeAsString());
  return result;
}

}  // namespace holdfast::test
