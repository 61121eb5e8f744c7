// SPDX-License-Identifier: Apache-2.0
#include "link/frame.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "core/mutex.h"
#include "link/limits.h"

namespace holdfast::link {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

absl::Status TooLarge(std::string_view what) {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    fmt::format("a message is too large: {}", what));
}

absl::Status NoMessage() { return InvalidArgument("a message cannot be parsed"); }

// Deeper than any message of the link and of CSI.
constexpr int kMaxDepth = 16;

// Walks the wire without making anything of it. `left` is how many fields may still come, `depth`
// how many messages within each other.
absl::Status CountFields(CodedInputStream& in, const Descriptor& type, std::size_t& left,
                         int depth) {
  if (depth == 0) return TooLarge("its parts are too deep within each other");
  while (const std::uint32_t tag = in.ReadTag()) {
    if (left-- == 0) return TooLarge("it has too many fields");
    const auto wire_type = WireFormatLite::GetTagWireType(tag);
    if (wire_type == WireFormatLite::WIRETYPE_START_GROUP) return NoMessage();
    if (wire_type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) return NoMessage();
      continue;
    }
    std::uint32_t size = 0;
    if (!in.ReadVarint32(&size)) return NoMessage();
    const FieldDescriptor* const field =
        type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const Descriptor* const inner = field == nullptr ? nullptr : field->message_type();
    if (inner == nullptr) {
      if (!in.Skip(static_cast<int>(size))) return NoMessage();
      continue;
    }
    const auto outer_limit = in.PushLimit(static_cast<int>(size));
    RETURN_IF_ERROR(CountFields(in, *inner, left, depth - 1));
    if (in.BytesUntilLimit() != 0) return NoMessage();
    in.PopLimit(outer_limit);
  }
  return absl::OkStatus();
}

absl::Status CheckFieldCount(CodedInputStream& in, const Descriptor& type, std::size_t bytes) {
  std::size_t left = MaxFields(bytes);
  return CountFields(in, type, left, kMaxDepth);
}

Mutex large_message;

// A large message may be ten times as large when it is parsed: one at a time.
template <typename Parse>
bool ParseInTurn(std::size_t bytes, const Parse& parse) {
  if (bytes <= kMaxUnprovedMessageBytes) return parse();
  const MutexLock lock(large_message);
  return parse();
}

template <typename Message>
absl::StatusOr<Message> Parse(grpc::ByteBuffer bytes, std::size_t max_bytes) {
  if (bytes.Length() > max_bytes) {
    return TooLarge(fmt::format("{} bytes, at most {} are taken", bytes.Length(), max_bytes));
  }
  {
    grpc::ProtoBufferReader reader(&bytes);
    CodedInputStream in(&reader);
    RETURN_IF_ERROR(CheckFieldCount(in, *Message::descriptor(), bytes.Length()));
  }
  Message message;
  const bool parsed = ParseInTurn(bytes.Length(), [&] {
    return grpc::GenericDeserialize<grpc::ProtoBufferReader, Message>(&bytes, &message).ok();
  });
  if (!parsed) return NoMessage();
  return message;
}

}  // namespace

absl::StatusOr<v1::FromNode> ParseFrame(grpc::ByteBuffer bytes, std::size_t max_bytes) {
  return Parse<v1::FromNode>(std::move(bytes), max_bytes);
}

absl::StatusOr<v1::Part> ParsePart(grpc::ByteBuffer bytes) {
  return Parse<v1::Part>(std::move(bytes), kMaxUnprovedMessageBytes);
}

absl::Status ParseWithin(const std::string& bytes, google::protobuf::Message& message) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  RETURN_IF_ERROR(CheckFieldCount(in, *message.GetDescriptor(), bytes.size()));
  const bool parsed = ParseInTurn(bytes.size(), [&] { return message.ParseFromString(bytes); });
  return parsed ? absl::OkStatus() : NoMessage();
}

grpc::ByteBuffer MakeFrame(const v1::ToNode& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  // Fails for messages above 2 GiB only.
  (void)grpc::GenericSerialize<grpc::ProtoBufferWriter, v1::ToNode>(message, &bytes, &own);
  return bytes;
}

}  // namespace holdfast::link
