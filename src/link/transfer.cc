// SPDX-License-Identifier: Apache-2.0
#include "link/transfer.h"

#include <utility>

#include "link/transfer_parts.h"

namespace holdfast::link {
namespace {

using Stream = grpc::ClientReaderWriter<v1::Part, v1::Part>;

// The writer is asked what it has kept before anything is sent, so it is the first to speak.
class Wire {
 public:
  Wire(const TransferPeer& peer, const std::string& ticket)
      : calls_(peer.calls),
        channel_(peer.channel()),
        stub_(v1::Transfer::NewStub(channel_)),
        stream_(stub_->Join(&context_)) {
    calls_->Add(context_);
    v1::Part part;
    *part.mutable_opening()->mutable_node() = peer.describe();
    part.mutable_opening()->mutable_node()->clear_pools();
    part.mutable_opening()->set_ticket(ticket);
    stream_->Write(part);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() {
    if (!over_) {
      context_.TryCancel();
      stream_->Finish();
    }
    calls_->Remove(context_);
  }

  [[nodiscard]] bool Write(const v1::Part& part) { return stream_->Write(part); }
  [[nodiscard]] bool Read(v1::Part& part) { return stream_->Read(&part); }

  // Says that nothing more comes from here, and waits for the end. Whether the peer has said that
  // it has everything.
  absl::StatusOr<bool> Close() {
    stream_->WritesDone();
    bool confirmed = false;
    v1::Part rest;
    while (stream_->Read(&rest)) confirmed = rest.has_end();
    RETURN_IF_ERROR(End());
    return confirmed;
  }

  // After a Read or Write that failed: why. Never OK.
  absl::Status Failure() {
    const absl::Status end = End();
    return end.ok() ? Unavailable("the transfer ended early") : end;
  }

 private:
  absl::Status End() {
    over_ = true;
    const grpc::Status status = stream_->Finish();
    return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }

  const std::shared_ptr<TransferCalls> calls_;
  grpc::ClientContext context_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Transfer::Stub> stub_;
  const std::unique_ptr<Stream> stream_;
  bool over_ = false;
};

absl::StatusOr<Bytes> ReadStart(Wire& wire) {
  v1::Part part;
  if (!wire.Read(part)) return wire.Failure();
  if (!part.has_start()) return InvalidArgument("a part of the transfer out of order");
  return part.start().offset();
}

absl::Status WriteEnd(Wire& wire, const absl::Status& status, Bytes size) {
  v1::Part part;
  part.mutable_end()->set_code(static_cast<int>(status.code()));
  part.mutable_end()->set_message(MessageOf(status));
  part.mutable_end()->set_size(size);
  if (!wire.Write(part)) return wire.Failure();
  const absl::StatusOr<bool> confirmed = wire.Close();
  if (!status.ok() || !confirmed.ok()) return status.ok() ? confirmed.status() : status;
  return *confirmed ? status : Unavailable("the target hung up before it had everything");
}

// A stream that is just over may have been broken off.
absl::Status Confirm(Wire& wire) {
  v1::Part part;
  part.mutable_end();
  if (!wire.Write(part)) return wire.Failure();
  return wire.Close().status();
}

absl::Status WritePieces(Wire& wire, ContentReader& reader, Bytes offset) {
  while (true) {
    auto piece = reader.Next(offset);
    if (!piece.ok()) return WriteEnd(wire, piece.status(), 0);
    if (!*piece) return WriteEnd(wire, absl::OkStatus(), reader.size());
    offset = (*piece)->offset + static_cast<Bytes>((*piece)->bytes.size());
    if (!wire.Write(PartOf(*std::move(*piece)))) return wire.Failure();
  }
}

}  // namespace

void TransferCalls::CancelAll() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
  for (grpc::ClientContext* const context : contexts_) context->TryCancel();
}

void TransferCalls::Add(grpc::ClientContext& context) {
  const MutexLock lock(mutex_);
  contexts_.insert(&context);
  if (cancelled_) context.TryCancel();
}

void TransferCalls::Remove(grpc::ClientContext& context) {
  const MutexLock lock(mutex_);
  contexts_.erase(&context);
}

absl::Status SendContent(const TransferPeer& peer, const std::string& ticket,
                         ContentReader& reader) {
  Wire wire(peer, ticket);
  ASSIGN_OR_RETURN(const Bytes start, ReadStart(wire));
  if (start < 0 || start > reader.size()) {
    return InvalidArgument("the target begins at {} of {} bytes", start, reader.size());
  }
  return WritePieces(wire, reader, start);
}

absl::Status TakeContent(const TransferPeer& peer, const std::string& ticket,
                         ContentWriter& writer) {
  Wire wire(peer, ticket);
  IncomingParts incoming(writer);
  v1::Part part;
  part.mutable_start()->set_offset(writer.kept());
  if (!wire.Write(part)) return wire.Failure();
  while (wire.Read(part)) {
    ASSIGN_OR_RETURN(const bool complete, incoming.Take(part));
    if (complete) return Confirm(wire);
  }
  return wire.Failure();
}

}  // namespace holdfast::link
