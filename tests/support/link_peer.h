// SPDX-License-Identifier: Apache-2.0
// A stream to the hub as a node holds it, message by message: the test decides what is sent and
// when.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "link/hub.h"
#include "proto/link.grpc.pb.h"
#include "support/await.h"
#include "support/csi_requests.h"

namespace holdfast::test {

inline constexpr char kPoolUuid[] = "11111111-2222-3333-4444-555555555555";

// Accepts every peer, until it is set to refuse.
class Belief final : public link::NodeIdentity {
 public:
  absl::Status Check(const std::vector<std::string>&, const link::v1::Register&) override {
    if (!objects) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kPermissionDenied, "the certificate names another node");
  }
  std::atomic<bool> objects = false;
};

// A node with one pool, named "default".
inline link::v1::Register RegisterOf(const std::string& node,
                                     const std::string& pool_id = kPoolUuid) {
  link::v1::Register message;
  message.set_protocol(link::kProtocol);
  message.set_driver(kDriverName);
  message.set_node(node);
  link::v1::Pool& pool = *message.mutable_pools()->add_pools();
  pool.set_name("default");
  pool.set_id(pool_id);
  return message;
}

// The capacity of its pool "default".
inline link::v1::Volumes VolumesOf(const std::vector<std::string>& names) {
  link::v1::Volumes part;
  for (const std::string& name : names) {
    link::v1::Volume& volume = *part.add_volumes();
    volume.set_pool("default");
    volume.set_name(name);
  }
  return part;
}

// Used by the test's thread; only the answers are given on another thread.
class LinkPeer final {
 public:
  // The answer to a command; empty: no answer, or a later one through Answer.
  using Answerer = std::function<std::optional<link::v1::Result>(const link::v1::Command&)>;

  explicit LinkPeer(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(link::v1::Link::NewStub(channel)), stream_(stub_->Connect(Limited(context_))) {}
  LinkPeer(const LinkPeer&) = delete;
  LinkPeer& operator=(const LinkPeer&) = delete;
  ~LinkPeer() {
    Cut();
    (void)AwaitEnd();
  }

  // False if the stream has ended.
  bool Send(const link::v1::FromNode& message) {
    const std::lock_guard lock(writing_);
    return stream_->Write(message);
  }
  bool Register(const link::v1::Register& message) {
    link::v1::FromNode frame;
    *frame.mutable_register_() = message;
    return Send(frame);
  }
  bool Prove(const std::string& nonce) {
    link::v1::FromNode frame;
    frame.mutable_proof()->set_nonce(nonce);
    return Send(frame);
  }
  bool Name(link::v1::Volumes part, bool last) {
    part.set_last(last);
    link::v1::FromNode frame;
    *frame.mutable_volumes() = std::move(part);
    return Send(frame);
  }
  bool Describe(const link::v1::Pools& pools) {
    link::v1::FromNode frame;
    *frame.mutable_pools() = pools;
    return Send(frame);
  }
  bool Answer(std::uint64_t command, link::v1::Result result = {}) {
    link::v1::FromNode frame;
    *frame.mutable_result() = std::move(result);
    frame.mutable_result()->set_id(command);
    return Send(frame);
  }

  // The challenge that answers Register; empty if the hub ends the stream instead.
  std::string TakeChallenge() {
    link::v1::ToNode message;
    if (!stream_->Read(&message)) return "";
    REQUIRE(message.has_challenge());
    return message.challenge().nonce();
  }

  // Sends everything that a node reports about itself, and answers commands from then on. False if
  // the hub ends the stream.
  bool Join(
      const link::v1::Register& description, const std::vector<link::v1::Volumes>& parts = {},
      Answerer answerer = [](const auto&) { return link::v1::Result(); }) {
    if (!Register(description)) return false;
    const std::string nonce = TakeChallenge();
    if (nonce.empty() || !Prove(nonce)) return false;
    for (const link::v1::Volumes& part : parts) {
      if (!Name(part, /*last=*/false)) return false;
    }
    if (!Name({}, /*last=*/true)) return false;
    reader_ = std::thread([this, answerer = std::move(answerer)] { TakeCommands(answerer); });
    return true;
  }

  // The commands that have arrived, once there are `count`.
  std::vector<link::v1::Command> AwaitCommands(std::size_t count) {
    std::unique_lock lock(mutex_);
    REQUIRE(came_.wait_until(lock, Patience(), [&] { return commands_.size() >= count; }));
    return commands_;
  }

  // As if the node had died.
  void Cut() { context_.TryCancel(); }

  // Waits until the hub has ended the stream; returns its reason.
  absl::Status AwaitEnd() {
    if (end_) return *end_;
    if (reader_.joinable()) {
      reader_.join();
    } else {
      for (link::v1::ToNode rest; stream_->Read(&rest);) continue;
    }
    const grpc::Status status = stream_->Finish();
    end_ = MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
    return *end_;
  }

 private:
  // A time limit for streams that the hub should end, but does not.
  static grpc::ClientContext* Limited(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    return &context;
  }

  void TakeCommands(const Answerer& answerer) {
    for (link::v1::ToNode message; stream_->Read(&message);) {
      const link::v1::Command& command = message.command();
      {
        const std::lock_guard lock(mutex_);
        commands_.push_back(command);
        came_.notify_all();
      }
      if (const auto result = answerer(command)) Answer(command.id(), *result);
    }
  }

  grpc::ClientContext context_;
  const std::unique_ptr<link::v1::Link::Stub> stub_;
  const std::unique_ptr<grpc::ClientReaderWriter<link::v1::FromNode, link::v1::ToNode>> stream_;
  std::optional<absl::Status> end_;
  std::mutex writing_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<link::v1::Command> commands_;  // guarded by mutex_
  std::thread reader_;
};

}  // namespace holdfast::test
