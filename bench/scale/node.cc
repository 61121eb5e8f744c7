// SPDX-License-Identifier: Apache-2.0
#include "scale/node.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "scale/node_stream.h"

namespace bench {
namespace {

using std::chrono::milliseconds;

// The values of src/link/node_link.cc.
constexpr milliseconds kFirstPause{200};
constexpr milliseconds kLongestPause{5000};

milliseconds Scatter(milliseconds pause) {
  static thread_local std::minstd_rand random(std::random_device{}());
  return milliseconds(
      std::uniform_int_distribution<std::int64_t>(pause.count() / 2, pause.count())(random));
}

std::shared_ptr<grpc::ChannelCredentials> Credentials(const Identity& identity,
                                                      const std::string& authority) {
  return grpc::SslCredentials({authority, identity.key, identity.certificate});
}

}  // namespace

void Events::Ended(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  ++ends_[status.error_message()];
}

std::string Events::ToJson() const {
  const std::lock_guard lock(mutex_);
  return nlohmann::json{{"dials", dials_.load()},
                        {"links", links_.load()},
                        {"commands", commands_.load()},
                        {"pushes", pushes_.load()},
                        {"ends", ends_}}
      .dump();
}

Node::Node(std::string controller, std::string name, int volumes, Authority& authority,
           const TokenIssuer& issuer, Events& events)
    : controller_(std::move(controller)),
      credentials_(Credentials(authority.Issue(name), authority.certificate())),
      token_(issuer.Issue(name)),
      volumes_(std::move(name), volumes),
      events_(events),
      pause_(kFirstPause) {}

void Node::Dial() {
  events_.Dialled();
  const std::lock_guard lock(mutex_);
  stream_ = NodeStream::Start(*this);
}

void Node::PushPools() {
  std::shared_ptr<NodeStream> stream;
  {
    const std::lock_guard lock(mutex_);
    stream = stream_;
  }
  volumes_.WriteBeside();
  if (stream == nullptr || !stream->is_up()) return;
  holdfast::link::v1::FromNode message;
  *message.mutable_pools() = volumes_.Measure();
  if (stream->Send(std::move(message))) events_.Pushed();
}

void Node::Ended(const grpc::Status& status, bool was_up) {
  events_.Ended(status);
  {
    const std::lock_guard lock(mutex_);
    stream_.reset();
  }
  timer_ = std::make_unique<grpc::Alarm>();
  timer_->Set(std::chrono::system_clock::now() + NextPause(was_up), [this](bool) { Dial(); });
}

milliseconds Node::NextPause(bool was_up) {
  if (was_up) pause_ = kFirstPause;
  const milliseconds scattered = Scatter(pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
  return scattered;
}

}  // namespace bench
