// SPDX-License-Identifier: Apache-2.0
// One stream of a simulated node, and the connection below it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <mutex>

#include "proto/link.grpc.pb.h"
#include "scale/node.h"

namespace bench {

// Thread-safe. Keeps itself alive until the stream is over.
class NodeStream final
    : public grpc::ClientBidiReactor<holdfast::link::v1::FromNode, holdfast::link::v1::ToNode> {
 public:
  static std::shared_ptr<NodeStream> Start(Node& node);

  // False when the stream is over.
  bool Send(holdfast::link::v1::FromNode message);
  [[nodiscard]] bool is_up() const;  // has registered

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  explicit NodeStream(Node& node);
  void Handle(const holdfast::link::v1::ToNode& message);
  void Answer(const holdfast::link::v1::Command& command);

  Node& node_;
  grpc::ClientContext context_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<holdfast::link::v1::Link::Stub> stub_;
  std::shared_ptr<NodeStream> self_;
  holdfast::link::v1::ToNode incoming_;  // gRPC's while a read is under way

  mutable std::mutex mutex_;
  bool over_ = false;  // no more writes may be started; guarded by mutex_, like all below
  bool up_ = false;
  bool writing_ = false;
  std::deque<holdfast::link::v1::FromNode> outgoing_;  // the front is gRPC's while writing_
};

}  // namespace bench
