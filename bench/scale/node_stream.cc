// SPDX-License-Identifier: Apache-2.0
#include "scale/node_stream.h"

namespace bench {
namespace {

namespace v1 = holdfast::link::v1;

// The values of src/link/node_link.cc.
grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // The controller is dialled by address; its certificate names a host.
  arguments.SetSslTargetNameOverride("localhost");
  return arguments;
}

bool ChangesSpace(const v1::Command& command) {
  return command.method() == "CreateVolume" || command.method() == "DeleteVolume" ||
         command.method() == "ControllerExpandVolume";
}

}  // namespace

NodeStream::NodeStream(Node& node)
    : node_(node),
      channel_(grpc::CreateCustomChannel(node.controller_, node.credentials_, Arguments())),
      stub_(v1::Link::NewStub(channel_)) {}

std::shared_ptr<NodeStream> NodeStream::Start(Node& node) {
  std::shared_ptr<NodeStream> stream(new NodeStream(node));
  stream->self_ = stream;
  stream->stub_->async()->Connect(&stream->context_, stream.get());
  v1::FromNode hello;
  *hello.mutable_register_() = node.volumes_.Describe();
  hello.mutable_register_()->set_token(node.token_);
  stream->Send(std::move(hello));
  stream->StartRead(&stream->incoming_);
  stream->StartCall();
  return stream;
}

bool NodeStream::Send(v1::FromNode message) {
  const std::lock_guard lock(mutex_);
  if (over_) return false;
  outgoing_.push_back(std::move(message));
  if (!writing_) StartWrite(&outgoing_.front());
  writing_ = true;
  return true;
}

bool NodeStream::is_up() const {
  const std::lock_guard lock(mutex_);
  return up_;
}

// A read is always under way until one fails, so the stream cannot be over while writes start.
void NodeStream::OnReadDone(bool ok) {
  if (!ok) {
    const std::lock_guard lock(mutex_);
    over_ = true;
    return;
  }
  Handle(incoming_);
  StartRead(&incoming_);
}

void NodeStream::OnWriteDone(bool ok) {
  if (!ok) return;  // the read fails as well
  const std::lock_guard lock(mutex_);
  outgoing_.pop_front();
  writing_ = !outgoing_.empty() && !over_;
  if (writing_) StartWrite(&outgoing_.front());
}

void NodeStream::OnDone(const grpc::Status& status) {
  const std::shared_ptr<NodeStream> last = std::move(self_);
  node_.Ended(status, is_up());
}

void NodeStream::Handle(const v1::ToNode& message) {
  if (message.has_command()) return Answer(message.command());
  v1::FromNode proof;
  proof.mutable_proof()->set_nonce(message.challenge().nonce());
  Send(std::move(proof));
  for (v1::Volumes& part : node_.volumes_.Name()) {
    v1::FromNode names;
    *names.mutable_volumes() = std::move(part);
    Send(std::move(names));
  }
  {
    const std::lock_guard lock(mutex_);
    up_ = true;
  }
  node_.events_.Linked();
}

void NodeStream::Answer(const v1::Command& command) {
  v1::FromNode message;
  *message.mutable_result() = node_.volumes_.Execute(command);
  message.mutable_result()->set_id(command.id());
  if (ChangesSpace(command)) {
    v1::FromNode pools;
    *pools.mutable_pools() = node_.volumes_.Measure();
    Send(std::move(pools));
  }
  Send(std::move(message));
  node_.events_.Commanded();
}

}  // namespace bench
