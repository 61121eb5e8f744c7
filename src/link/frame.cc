// SPDX-License-Identifier: Apache-2.0
#include "link/frame.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <mutex>

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

// Walks the wire without making anything of it. `left` is how many fields may still come; no
// message of the link contains one of its own type, so the depth is bounded.
absl::Status CountFields(CodedInputStream& in, const Descriptor& type, std::size_t& left) {
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
    RETURN_IF_ERROR(CountFields(in, *inner, left));
    if (in.BytesUntilLimit() != 0) return NoMessage();
    in.PopLimit(outer_limit);
  }
  return absl::OkStatus();
}

absl::Status CheckFieldCount(grpc::ByteBuffer& bytes) {
  grpc::ProtoBufferReader reader(&bytes);
  CodedInputStream in(&reader);
  std::size_t left = MaxFields(bytes.Length());
  return CountFields(in, *v1::FromNode::descriptor(), left);
}

}  // namespace

absl::StatusOr<v1::FromNode> ParseFrame(grpc::ByteBuffer bytes, std::size_t max_bytes) {
  // A large message may be ten times as large when it is parsed: one at a time.
  static std::mutex large;
  std::unique_lock lock(large, std::defer_lock);
  if (bytes.Length() > max_bytes) {
    return TooLarge(fmt::format("{} bytes, at most {} are taken", bytes.Length(), max_bytes));
  }
  RETURN_IF_ERROR(CheckFieldCount(bytes));
  if (bytes.Length() > kMaxUnprovedMessageBytes) lock.lock();
  v1::FromNode message;
  if (!grpc::GenericDeserialize<grpc::ProtoBufferReader, v1::FromNode>(&bytes, &message).ok()) {
    return NoMessage();
  }
  return message;
}

grpc::ByteBuffer MakeFrame(const v1::ToNode& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  // Fails for messages above 2 GiB only.
  (void)grpc::GenericSerialize<grpc::ProtoBufferWriter, v1::ToNode>(message, &bytes, &own);
  return bytes;
}

}  // namespace holdfast::link
